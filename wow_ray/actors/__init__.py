"""Where an app lives on Ray: the only folder that knows Ray, and in it only `edge`, `pool` and `connecting` import it.

Actors are plain classes that work in any event loop, and are tested there. Ray gives them processes, names and a
restart; what they own, and that only one owns it, is decided in Postgres: no actor holds any truth.
"""
