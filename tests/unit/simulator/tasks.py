"""Tasks with one right answer: the sample tasks, and the same kinds with other numbers, names and words."""

TABLE = "Region,Q1,Q2,Q3,Q4\nNorth,120,135,128,160\nSouth,98,110,143,150\nEast,210,190,205,198\nWest,75,92,88,101\n\n"
SHOP = "Product,Jan,Feb,Mar\nTea,40,44,60\nCoffee,100,90,110\nCocoa,20,25,20\n\n"
PASSAGE = (
    "Passage: The pilot plant ran for 41 days. For the first 12 it used river water; then, after the filter "
    "failed, mains "
    "water until the end. Output averaged 3.2 tonnes a day on river water and 2.9 on mains water.\n"
)
KILN = (
    "Passage: The kiln was fired for 30 hours. For the first 10 it burned coal; then, when the delivery "
    "came, natural gas "
    "until the end. Output averaged 4 pots an hour on coal and 6.5 on natural gas.\n"
)
PETS = (
    "Ana, Ben and Chloe each own one pet: a cat, a dog or a parrot. Ana is allergic to fur. Ben's pet does not bark. "
)
NOTE = "'Spoke to Frau Lindner (Hafenwerk GmbH). They owe us 12.480,50 EUR, will pay by the 3rd of March 2026.'"
CAR_PARK = (
    "How many charging points does a car park with 240 places need so that 35 % of the cars, each needing 28 "
    "kWh, can be "
    "filled between 09:00 and 17:00 at 7.4 kW? State your assumptions."
)
PRICES = "Ticket prices: adult 14.50, student 9.00, child 6.50. "

SAMPLES = {
    "What is the capital of Japan? Answer with the city's name.": "Tokyo",
    "A warehouse ships 37 pallets a day, each with 48 boxes of 12 units. How many units leave in a five-day week? "
    "Answer with the number.": "106560",
    "Compute (1847 - 392) * 16 / 5. Answer with the number.": "4656",
    "Which is longer: a 10 km race or a 6.3 mile race, and by how many metres? (1 mile = 1609.344 m.) Round to whole "
    "metres.": "the 6.3 mile race, by 139 m",
    "A contract ends on 14 August 2025 and renews itself unless it is cancelled at least 60 days before that "
    "day. What is "
    "the last day to cancel? Answer as an ISO date.": "2025-06-15",
    TABLE + "Which region grew most from Q1 to Q4 in per cent, and by how much? One decimal place.": "South, 53.1 %",
    PRICES + "Family A: 2 adults, 3 children. Family B: 1 adult, 2 students, 2 children. Who pays more, and how much "
    "more?": "Family A, by 3.00",
    "Sort these words by length, then alphabetically, and join them with hyphens: pear, fig, banana, kiwi, "
    "plum, apple, "
    "date.": "fig-date-kiwi-pear-plum-apple-banana",
    "From 4, 8, 15, 16, 23, 42 remove the primes, double what is left and give the sum.": "170",
    PASSAGE + "Question: how many tonnes were made on mains water?\nA) 38.4  B) 84.1  C) 118.9  D) 122.5": "B",
    PETS + "Who owns the dog?": "Chloe",
    f"From this note, return JSON with keys customer, amount_eur, due (ISO date): {NOTE}": (
        '{"customer": "Hafenwerk GmbH", "amount_eur": 12480.5, "due": "2026-03-03"}'
    ),
    CAR_PARK: "at least 40 (84 cars, 2,352 kWh, 59.2 kWh per point)",
}
COUNTDOWN = "Using each of 3, 7, 25, 50 at most once and the operations + - * /, reach 372. Give one expression."

VARIANTS = {
    TABLE + "Which region grew most, which least, and by how many points do they differ? One decimal place.": (
        "most: South, 53.1 %; least: East, -5.7 %; difference: 58.8 points"
    ),
    TABLE + "Which region grew most and least from Q1 to Q4?": "most: South, 52; least: East, -12",
    SHOP + "Which product had the highest and which the lowest total? By how much do they differ?": (
        "most: Coffee, 300; least: Cocoa, 65; difference: 235"
    ),
    "What is the capital of New Zealand?": "Wellington",
    "Name the capital city of the United Kingdom.": "London",
    "A bakery bakes 24 trays an hour, each with 6 rows of 8 rolls. How many rolls in an eight-hour shift?": "9216",
    "A shop has 12 shelves, each with 30 books. How many books are there?": "360",
    "Calculate 2^10 - 24.": "1000",
    "What is 15 % of 240?": "36",
    "Compute 1,250 / 8 and round to one decimal place.": "156.3",
    "12 * (3 + 4) =": "84",
    "Which is heavier: a 5 kg sack or a 12 pound sack, and by how many grams? Round to whole grams.": (
        "the 12 pound sack, by 443 g"
    ),
    "Which is shorter: a 3 mile walk or a 5 km walk, and by how many metres? (1 mile = 1609.344 m.) Round to whole "
    "metres.": "the 3 mile walk, by 172 m",
    "Convert 2.5 hours to minutes.": "150 min",
    "How many metres are 3.5 km?": "3500 m",
    "A lease ends on 1 March 2024. Notice must be given 30 days before that day. What is the last day? ISO date.": (
        "2024-01-31"
    ),
    "An invoice of 2025-11-20 is due 45 days after that day. When is it due?": "2026-01-04",
    "How many days are there between 2024-02-01 and 1 March 2024?": "29",
    "What day of the week is 14 July 2025?": "Monday",
    "What date is 3 months after 30 November 2025?": "2026-02-28",
    SHOP + "Which product grew most from Jan to Mar in per cent? One decimal place.": "Tea, 50.0 %",
    SHOP + "Which product had the highest total?": "Coffee, 300",
    SHOP + "Which product had the lowest average? One decimal place.": "Cocoa, 21.7",
    SHOP + "What is the total of Feb?": "159",
    SHOP + "What was the growth of Coffee from Jan to Feb in per cent?": "-10 %",
    PRICES + "Team X: 4 students. Team Y: 1 adult, 3 children. Who pays less, and by how much?": "Team Y, by 2.00",
    PRICES + "Family Z: 2 adults and 2 children. How much do they pay in total?": "42.00",
    "Sort these words alphabetically in reverse order and join them with commas: oak, elm, ash.": "oak, elm, ash",
    "Arrange by length, longest first, and separate with spaces: fir, chestnut, birch.": "chestnut birch fir",
    "Reverse the string 'stressed'.": "desserts",
    "How many times does the letter 'r' occur in 'strawberry'?": "3",
    "How many vowels are in 'orchestra'?": "3",
    "From 3, 9, 12, 17, 20 keep the even numbers, add 5 and give the product.": "425",
    "From 5, 10, 15, 20 remove multiples of 10 and give the mean.": "10",
    "Take 7, 1, 9, 4: sort them in descending order.": "9, 7, 4, 1",
    PASSAGE + "Question: how many tonnes were made on river water?\nA) 38.4  B) 84.1  C) 118.9  D) 122.5": "A",
    PASSAGE + "Question: how many tonnes were made in all?\nA) 38.4  B) 84.1  C) 118.9  D) 122.5": "D",
    KILN + "Question: how many pots were made on natural gas?\nA) 40\nB) 130\nC) 195\nD) 170": "B",
    "Passage: The bridge opened in 1932. It was closed for repairs in 1987 and painted green in "
    "1990.\nQuestion: In which "
    "year was the bridge painted?\nA) 1932  B) 1987  C) 1990": "C",
    PETS + "What does Ben own?": "the cat",
    "Mia, Noor and Otto all have one job: baker, pilot or nurse. Mia is not the pilot. Otto is the nurse. Who is the "
    "pilot?": "Noor",
    "Return JSON with the fields company, total_usd, date: 'Invoice from Blue River Inc. dated 2025-05-07 "
    "over $1,200.'": ('{"company": "Blue River Inc.", "total_usd": 1200, "date": "2025-05-07"}'),
    "How many charging points for 100 spaces, 50 % of the cars, each needing 20 kWh, charged from 08:00 to 18:00 at "
    "10 kW?": "at least 10 (50 cars, 1,000 kWh, 100 kWh per point)",
}

OPEN_ENDED = (
    "Write a Python function `merge_intervals(intervals)` that merges overlapping closed intervals given as "
    "(start, end) "
    "pairs in any order, and explain its complexity in one line.",
    "Review this function and list every defect, most serious first:\n\ndef mean(xs):\n    total = 0\n    "
    "for i in range(1, "
    "len(xs)):\n        total += xs[i]\n    return total / len(xs)",
    "Our support queue doubled in a month while headcount stayed flat. Draft three competing explanations, "
    "the data that "
    "would tell them apart, and the first query you would run.",
    "Compare PostgreSQL and SQLite for an internal tool with 30 users on one server: operations, concurrency, backup, "
    "cost. End with a recommendation and the condition that would change it.",
    "Rewrite for a customer, in at most 80 words, without blame and with the next step first: 'Your import "
    "failed since "
    "your CSV is broken, rows 17-40 have wrong dates, fix it and try again.'",
    "Plan a two-day offsite for 14 people between Lyon and Turin with a budget of 6,000 EUR: agenda, "
    "transport, where to "
    "sleep, and a cost table that adds up.",
    "Compare PostgreSQL and MariaDB for a shop with 33 users: operations, concurrency, backup, cost. Recommend one.",
)

# A solver knows the answer to one half of each. That is no answer.
TWO_THINGS = (
    TABLE + "Which region grew most from Q1 to Q4, and why?",
    TABLE + "Which region grew most from Q1 to Q2, and which from Q3 to Q4?",
    TABLE + "Which region had the highest total, and what is the total of Q1?",
    TABLE + "Which region grew most from Q1 to Q4 in per cent, and by how many points more than the next?",
    SHOP + "What is the total of Feb and the mean of Feb?",
    SHOP + "Rank the products by growth from Jan to Mar, and name the one that grew most.",
    "Compute 2 + 3 and 4 * 5.",
    "What is 2 + 3? What is 4 * 5?",
    "What is 15 % of 240, and 20 % of 50?",
    "What is the capital of Japan and of France?",
    "What is the capital of Japan? And of France?",
    "What is the capital of Japan, and how many people live there?",
    "Reverse the string 'stressed' and count its vowels.",
    "How many vowels are in 'orchestra', and how many consonants?",
    "What day of the week is 14 July 2025, and how many days are left in that year?",
    "Convert 2.5 hours to minutes and to seconds.",
    PRICES + "Family A: 2 adults, 3 children. Family B: 1 adult, 2 students, 2 children. Who pays more, how much more, "
    "and what do they pay together?",
    PRICES + "Family A: 2 adults, 3 children. Family B: 1 adult, 2 students, 2 children. What does each family pay?",
    PETS + "Who owns the dog, and who owns the cat?",
    "From 3, 9, 12, 17, 20 keep the even numbers, and give their sum and their product.",
    CAR_PARK + " And what would they cost at 900 EUR each?",
)

NO_PUZZLES = (
    *OPEN_ENDED,
    "What is the capital of Atlantis?",
    "Who wrote the Odyssey?",
    "The meeting is on 2026-03-04 from 09:00-10:30 in room 3-4.",
)

EVERY_TASK = (*SAMPLES, COUNTDOWN, *NO_PUZZLES)
