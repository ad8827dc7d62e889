from duolog.runtime.clients.rates import ClientRates, Counts, Rates

KEY, OTHER = ("b:1", 7), ("b:1", 8)


def test_rates_are_those_since_the_oldest_report_of_half_a_minute() -> None:
    rates = ClientRates()
    for second in range(0, 20, 2):
        found = rates.note(second * 1000, {KEY: Counts(second, 10 * second, 0)})

    assert found == {KEY: Rates(1.0, 10.0, 0.0)}
    # Three quiet reports do not hide that there were requests in the half minute.
    for second in (20, 22):
        found = rates.note(second * 1000, {KEY: Counts(18, 180, 0)})
    assert found[KEY].requests > 0


def test_reports_that_come_close_together_are_compared_with_an_older_one() -> None:
    rates = ClientRates()
    rates.note(0, {KEY: Counts(0, 0, 0)})
    rates.note(100, {KEY: Counts(1, 0, 0)})

    assert rates.note(4_000, {KEY: Counts(8, 0, 0)})[KEY].requests == 2.0
    assert rates.note(4_050, {KEY: Counts(8, 0, 0)})[KEY].requests < 2.0


def test_a_new_client_has_no_rate_yet() -> None:
    rates = ClientRates()
    rates.note(0, {KEY: Counts(5, 5, 5)})

    assert OTHER not in rates.note(5_000, {KEY: Counts(5, 5, 5), OTHER: Counts(9, 9, 9)})


def test_old_reports_are_forgotten() -> None:
    rates = ClientRates()
    rates.note(0, {KEY: Counts(0, 0, 0)})

    assert rates.note(60_000, {KEY: Counts(600, 0, 0)}) == {}
