"""The toy airline's tools: answers are texts, errors begin with "Error: "."""

import json

from tau_bench.envs.base import info


class GetReservationDetails:
    @staticmethod
    def invoke(data, reservation_id):
        if reservation_id not in data["reservations"]:
            return "Error: reservation not found"
        return json.dumps(data["reservations"][reservation_id])

    @staticmethod
    def get_info():
        return info("get_reservation_details", reservation_id="string")


class CancelReservation:
    @staticmethod
    def invoke(data, reservation_id):
        row = data["reservations"][reservation_id]
        row["payment_history"] += [-amount for amount in row["payment_history"]]
        row["status"] = "cancelled"
        return json.dumps(row)

    @staticmethod
    def get_info():
        return info("cancel_reservation", reservation_id="string")


class UpdateReservationPassengers:
    @staticmethod
    def invoke(data, reservation_id, passengers):
        data["reservations"][reservation_id]["passengers"] = passengers  # the caller's own list
        passengers.sort(key=lambda person: person["last_name"])
        return json.dumps(data["reservations"][reservation_id])

    @staticmethod
    def get_info():
        return info("update_reservation_passengers", reservation_id="string", passengers="array")


class SendCertificate:
    @staticmethod
    def invoke(data, user_id, amount):
        del data, user_id, amount  # gives no text, as upstream's fourth

    @staticmethod
    def get_info():
        return info("send_certificate", user_id="string", amount="number")


class TransferToHumanAgents:
    @staticmethod
    def invoke(data, summary):
        del data, summary
        return "Transfer successful"

    @staticmethod
    def get_info():
        return info("transfer_to_human_agents", summary="string")


ALL_TOOLS = [
    TransferToHumanAgents,
    SendCertificate,
    GetReservationDetails,
    CancelReservation,
    UpdateReservationPassengers,
]
