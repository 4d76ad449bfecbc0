"""Tests of the handlers, without a server: `.venv/bin/python -m unittest`."""

import unittest

from drover_sdk.testing import run_handler

from agent import Order, charge_card


class ChargeCardTest(unittest.TestCase):
    def test_a_card_is_charged_under_the_key_of_the_task(self) -> None:
        outcome = run_handler(charge_card, input=Order("visa"), idempotency_key="key-7")
        self.assertEqual(outcome.output, {"charge": "key-7"})

    def test_without_a_card_it_fails_for_good(self) -> None:
        outcome = run_handler(charge_card, input=Order("none"))
        self.assertEqual((outcome.code, outcome.transient), ("no-card", False))

    def test_an_order_without_a_card_is_refused(self) -> None:
        outcome = run_handler(charge_card, input={})
        self.assertEqual(outcome.code, "bad-input")
