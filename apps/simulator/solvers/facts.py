"""A few facts: the capitals of countries. What is not in the table is not guessed."""

import re

from apps.simulator.solvers.problem import Problem

_TABLE = (
    "Argentina=Buenos Aires; Australia=Canberra; Austria=Vienna; Belgium=Brussels; Brazil=Brasília; Bulgaria=Sofia; "
    "Canada=Ottawa; Chile=Santiago; China=Beijing; Colombia=Bogotá; Croatia=Zagreb; Cuba=Havana; Czechia=Prague; "
    "Denmark=Copenhagen; Egypt=Cairo; Estonia=Tallinn; Ethiopia=Addis Ababa; Finland=Helsinki; France=Paris; "
    "Germany=Berlin; Ghana=Accra; Greece=Athens; Hungary=Budapest; Iceland=Reykjavik; India=New Delhi; "
    "Indonesia=Jakarta; Iran=Tehran; Iraq=Baghdad; Ireland=Dublin; Israel=Jerusalem; Italy=Rome; Japan=Tokyo; "
    "Kenya=Nairobi; Latvia=Riga; Lithuania=Vilnius; Luxembourg=Luxembourg; Malaysia=Kuala Lumpur; Mexico=Mexico City; "
    "Morocco=Rabat; Nepal=Kathmandu; New Zealand=Wellington; Nigeria=Abuja; Norway=Oslo; Pakistan=Islamabad; "
    "Peru=Lima; Poland=Warsaw; Portugal=Lisbon; Romania=Bucharest; Russia=Moscow; Senegal=Dakar; Serbia=Belgrade; "
    "Singapore=Singapore; Slovakia=Bratislava; Slovenia=Ljubljana; South Korea=Seoul; Spain=Madrid; Sweden=Stockholm; "
    "Switzerland=Bern; Thailand=Bangkok; Tunisia=Tunis; Turkey=Ankara; Ukraine=Kyiv; United Kingdom=London; "
    "United States=Washington, D.C.; Uruguay=Montevideo; Vietnam=Hanoi"
)
CAPITALS = dict(pair.split("=") for pair in _TABLE.split("; "))
# the larger city that people take for the capital
_MISTAKEN = {
    "Australia": "Sydney",
    "Brazil": "Rio de Janeiro",
    "Canada": "Toronto",
    "Japan": "Kyoto",
    "Morocco": "Casablanca",
    "New Zealand": "Auckland",
    "Nigeria": "Lagos",
    "Switzerland": "Zurich",
    "Turkey": "Istanbul",
    "United States": "New York",
    "Vietnam": "Ho Chi Minh City",
}
_BY_NAME = {country.lower(): country for country in CAPITALS}
_OTHERS = {"uk": "United Kingdom", "usa": "United States", "us": "United States", "czech republic": "Czechia"}
_ASKED = re.compile(
    r"\bcapital (?:city )?of (?:the )?([A-Z][\w ]*?)(?=\s*[?.,;!]|\s+(?:is|in|as|and)\b|$)", re.I | re.M
)


def solve(text: str) -> Problem | None:
    asked = _ASKED.search(text)
    name = asked[1].strip().lower() if asked else ""
    country = _BY_NAME.get(name) or _OTHERS.get(name)
    if country is None:
        return None
    capital = CAPITALS[country]
    return Problem(
        family="fact",
        ask=f"Name the capital of {country}.",
        method=f"Recall the seat of government of {country}, which need not be its largest city.",
        check=f"Check that the city named is the capital of {country} and not merely its largest, and give its name.",
        answer=capital,
        working=(f"The capital of {country} is {capital}.",),
        wrong=(_MISTAKEN.get(country) or next(city for city in CAPITALS.values() if city != capital),),
        is_easy=True,
    )
