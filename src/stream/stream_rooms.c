/* What a room begins on its own, without a call of the user: a lower room finds it here.  In no room. */
#include "stream/core/stream_core.h"
#include "stream/profile/stream_profile.h"

static void (*const rooms_stream_made[])(void) = { cji_profile_env_start };

void cji_rooms_stream_made(void)
{
    for (size_t i = 0; i < sizeof rooms_stream_made / sizeof *rooms_stream_made; i++) rooms_stream_made[i]();
}
