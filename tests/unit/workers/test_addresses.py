"""Where a model may be asked: judged by the address, however it is written."""

import pytest
from django.conf import LazySettings

from apps.workers.addresses import why_host_refused, why_refused
from studio.env import networks


@pytest.fixture(autouse=True)
def nothing_allowed(settings: LazySettings) -> None:
    settings.ENDPOINT_NETWORKS = []


@pytest.mark.parametrize(
    "address", ["93.184.215.14", "1.1.1.1", "2606:4700::1111", "::ffff:1.1.1.1", "64:ff9b::101:101"]
)
def test_public_addresses_are_open(address: str) -> None:
    assert why_refused(address) == ""


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "127.9.9.9",
        "::1",
        "10.0.0.1",
        "172.16.5.4",
        "192.168.1.1",
        "100.64.0.1",
        "fd12:3456::1",
        "::ffff:127.0.0.1",
        "::ffff:10.0.0.1",
        "64:ff9b::a00:1",
        "2002:a00:1::",
    ],
)
def test_private_addresses_have_to_be_allowed_and_it_says_how(address: str) -> None:
    why = why_refused(address)

    assert "has to be allowed" in why
    assert "STUDIO_ENDPOINT_NETWORKS" in why


@pytest.mark.parametrize(
    "address",
    [
        "169.254.169.254",
        "169.254.0.1",
        "fe80::1",
        "fe80::1%eth0",
        "100.100.100.200",
        "168.63.129.16",
        "fd00:ec2::254",
        "0.0.0.0",
        "::",
        "224.0.0.1",
        "255.255.255.255",
        "::ffff:169.254.169.254",
        "64:ff9b::a9fe:a9fe",
    ],
)
def test_metadata_and_link_local_addresses_are_closed_whatever_is_allowed(address: str, settings: LazySettings) -> None:
    settings.ENDPOINT_NETWORKS = ["0.0.0.0/0", "::/0"]

    assert "always refused" in why_refused(address)


def test_an_allowed_network_opens_its_addresses_and_no_others(settings: LazySettings) -> None:
    settings.ENDPOINT_NETWORKS = ["10.1.0.0/16", "fd12::/16"]

    assert why_refused("10.1.2.3") == ""
    assert why_refused("::ffff:10.1.2.3") == ""
    assert why_refused("fd12::7") == ""
    assert "10.2.0.1/32" in why_refused("10.2.0.1")
    assert "of this machine itself" in why_refused("127.0.0.1")


@pytest.mark.parametrize("host", ["localhost", "127.1", "2130706433", "0x7f.1", "[::1]".strip("[]")])
def test_a_host_is_judged_by_what_its_name_stands_for(host: str) -> None:
    assert "has to be allowed" in why_host_refused(host)


def test_a_host_nobody_knows_is_left_to_the_connection() -> None:
    assert why_host_refused("no-such-host.invalid") == ""


def test_a_setting_that_is_no_network_is_named() -> None:
    assert networks(" 10.0.0.0/8, ::1/128,") == ["10.0.0.0/8", "::1/128"]
    with pytest.raises(Exception, match=r"STUDIO_ENDPOINT_NETWORKS: .*10\.0\.0\.1/8"):
        networks("10.0.0.1/8")
