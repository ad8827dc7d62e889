"""Compute each rider's total spending, and find rides that cost more than the rider's mean."""

from duolog import Topology, avg, col, count, sum_

topology = Topology("fares")

rides = topology.stream("rides", key="id STRING", value="rider STRING, fare DOUBLE")
paid = rides.filter(col("fare") > 0)

spent = (
    paid.group_by("rider")
    .materialized("spent")
    .aggregate(rides=count(), total=sum_("fare"), mean=avg("fare"))
)
spent.to("spent-by-rider")

dear = paid.join(spent, on="rider", select=["id", "fare", "mean"])
dear.filter(col("fare") > 2 * col("mean")).to("dear-rides")
