#!/bin/sh
# Run a command where there is no network but loopback, as Ray listens on every interface it finds.
#
#     tests/netns.sh COMMAND [ARGUMENT ...]
#
# Where a network namespace cannot be made (not root, or not Linux) the command runs as it is, and LOOPBACK_ONLY is not
# set: what starts Ray then has it speak on loopback and keeps its token.
set -eu
if [ "${LOOPBACK_ONLY:-}" = 1 ] || ! unshare -n sh -c 'ip link set lo up' 2>/dev/null; then
    exec "$@"
fi
LOOPBACK_ONLY=1
# Nobody else is in here, so nobody has to be kept out.
RAY_AUTH_MODE=disabled
RAY_USAGE_STATS_ENABLED=0
export LOOPBACK_ONLY RAY_AUTH_MODE RAY_USAGE_STATS_ENABLED
exec unshare -n sh -c 'ip link set lo up; exec "$@"' netns "$@"
