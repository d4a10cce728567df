"""Where a model may be asked: never where clouds keep secrets, and in private networks only where an admin said so.

An address that a form takes is looked up and judged there, to say at once what is wrong. That alone would not hold: a
name can answer differently later. So the very address that a connection is made to is judged again, at the connection.
"""

import asyncio
import errno
import socket
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as TooSlow
from functools import cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies

import aiohttp
from aiohttp.abc import ResolveResult
from django.conf import settings

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

SETTING = "STUDIO_ENDPOINT_NETWORKS"
LOOK_UP_S = 3.0

# No setting opens these. Beside link-local addresses: where Alibaba, Azure, Oracle and AWS answer their own machines.
NEVER: tuple[Network, ...] = tuple(
    map(
        ip_network,
        (
            "169.254.0.0/16",
            "fe80::/10",
            "100.100.100.200/32",
            "168.63.129.16/32",
            "192.0.0.192/32",
            "fd00:ec2::/32",
            "0.0.0.0/8",
            "::/128",
            "224.0.0.0/4",
            "240.0.0.0/4",
            "ff00::/8",
        ),
    )
)
# IPv6 addresses that carry an IPv4 one: what counts is where that leads.
NAT64 = IPv6Network("64:ff9b::/96")


class AddressRefused(aiohttp.ClientOSError):
    """A connection to an address where no model may be asked; `strerror` says which, and what to set."""

    def __init__(self, why: str) -> None:
        super().__init__(errno.EACCES, why)


def refusal_in(error: BaseException) -> str:
    """Why a connection was refused by us; nothing where that is not what `error` says."""
    match error:
        case AddressRefused(strerror=why) | aiohttp.ClientConnectorError(os_error=AddressRefused(strerror=why)):
            return why or ""
    return ""


def why_refused(address: str) -> str:
    """Why no model may be asked at an IP address; nothing where one may."""
    given = ip_address(address.partition("%")[0])
    led_to = carried(given) or given
    if any(led_to in network for network in NEVER if network.version == led_to.version):
        return f"{address} is no place for an endpoint: link-local and metadata addresses are always refused"
    if led_to.is_global or any(led_to in network for network in allowed() if network.version == led_to.version):
        return ""
    kind = "of this machine itself" if led_to.is_loopback else "in a private network"
    one = f"{led_to}/{led_to.max_prefixlen}"
    return f"{address} is an address {kind}, which has to be allowed: add its network, such as {one}, to {SETTING}"


def why_host_refused(host: str) -> str:
    """Why no model may be asked at a host, by what its name stands for now; nothing where one may, or nobody knows it.

    Waits `LOOK_UP_S` at most: what is not known by then is judged when it is connected to.
    """
    with_limit = ThreadPoolExecutor(1)
    try:
        found = with_limit.submit(addresses_of, host).result(LOOK_UP_S)
    except TooSlow:
        return ""
    finally:
        with_limit.shutdown(wait=False)
    return first_refusal(found)


async def check(url: str) -> None:
    """For what connects by itself, as litellm does, or through a proxy: judge what the host of `url` stands for now.

    :raises AddressRefused: no model may be asked there.
    """
    if (host := urlsplit(url).hostname) and (why := first_refusal(await asyncio.to_thread(addresses_of, host))):
        raise AddressRefused(why)


def addresses_of(host: str) -> list[str]:
    """The IP addresses of a host; none where its name is not known."""
    try:
        return sorted({str(info[4][0]) for info in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)})
    except (OSError, UnicodeError):
        return []


def first_refusal(found: Iterable[str]) -> str:
    return next(filter(None, map(why_refused, found)), "")


def carried(address: Address) -> IPv4Address | None:
    """The IPv4 address that an IPv6 one only wraps."""
    if isinstance(address, IPv4Address):
        return None
    if address in NAT64:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour


def allowed() -> tuple[Network, ...]:
    """The networks beyond the public ones in which models may be asked."""
    return parsed(tuple(settings.ENDPOINT_NETWORKS))


@cache
def parsed(networks: tuple[str, ...]) -> tuple[Network, ...]:
    return tuple(map(ip_network, networks))


# --- at the connection ---------------------------------------------------------------------------------------------


class Gate(aiohttp.ThreadedResolver):
    """Judges each address at the moment of connecting to it. A proxy that the environment names may be anywhere."""

    def __init__(self) -> None:
        super().__init__()
        self._of_proxies: set[str] = set()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        found = await super().resolve(host, port, family)
        if host in proxy_hosts():
            self._of_proxies.update(each["host"] for each in found)
        return found

    def open(self, info: tuple[Any, ...]) -> socket.socket:
        """The socket for a connection that is about to be made.

        :raises AddressRefused: no model may be asked there.
        """
        family, kind, protocol, _, address = info
        host = str(address[0])
        if host not in self._of_proxies and host not in proxy_hosts() and (why := why_refused(host)):
            raise AddressRefused(why)
        return socket.socket(family, kind, protocol)


def open_connector(**options: Any) -> aiohttp.TCPConnector:
    """A connector that connects to no address where models may not be asked."""
    gate = Gate()
    return aiohttp.TCPConnector(resolver=gate, socket_factory=gate.open, **options)


def proxied_requests() -> list[aiohttp.TraceConfig]:
    """Judges where a request is sent on to by a proxy, which connects for itself; nothing where there is no proxy."""
    if not getproxies():
        return []

    async def judge(session: aiohttp.ClientSession, context: Any, request: aiohttp.TraceRequestStartParams) -> None:
        await check(str(request.url))

    trace = aiohttp.TraceConfig()
    trace.on_request_start.append(judge)
    return [trace]


def proxy_hosts() -> set[str]:
    return {host for proxy in getproxies().values() if (host := urlsplit(proxy).hostname)}
