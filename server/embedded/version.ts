/** Version of this build; the build script puts in the commit and the key that releases are signed with. */
import manifest from '../../package.json' with { type: 'json' };

declare const GATEWAY_COMMIT: string | undefined;
declare const GATEWAY_RELEASE_KEY: string | undefined;

export const version = `v${manifest.version}`;
export const commit = typeof GATEWAY_COMMIT === 'undefined' ? 'source' : GATEWAY_COMMIT;
/** PEM of a public Ed25519 key; '' = a build of one's own, which knows none. */
export const releaseKey = typeof GATEWAY_RELEASE_KEY === 'undefined' ? '' : GATEWAY_RELEASE_KEY;
