"""Where XlaComputation and its like are since 2025."""


class HloSharding:
    @staticmethod
    def replicate():
        return "replicated"
