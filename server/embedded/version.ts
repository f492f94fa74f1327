/** Version of this build; the build script puts the commit in. */
import manifest from '../../package.json' with { type: 'json' };

declare const GATEWAY_COMMIT: string | undefined;

export const version = `v${manifest.version}`;
export const commit = typeof GATEWAY_COMMIT === 'undefined' ? 'source' : GATEWAY_COMMIT;
