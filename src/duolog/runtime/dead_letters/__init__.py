"""Dead letters: records that a query could not process, with the error in their headers.

    finding      the topics with dead letters on a cluster
    letter       one dead letter: error, position in its source topic, own headers
    reading      committed records of a dead-letter topic, and a selection of them
    corrections  new keys and values
    replaying    write letters to their source topics, each once
    marks        the record of replays, written in the same transactions

Start reading in `letter`. Nothing here needs a JVM.
"""
