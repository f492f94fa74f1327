/** Models that their maker serves at one of its endpoints alone, or there alone with tools. */
import { bareName } from '../../contract/model-limits.ts';
import type { ProtocolId } from '../../protocols/canonical.ts';
import type { WithSource } from './row.ts';

export interface EndpointRow extends WithSource {
  /** Slugs of the catalogue. */
  readonly providers: readonly string[];
  readonly models: RegExp;
  /** The dialect of the endpoint that serves them. */
  readonly dialect: ProtocolId;
  /** Only requests that offer tools must go there, unless they set one of these efforts; '' = they set none. Absent = all must. */
  readonly unlessEffort?: readonly string[];
}

const openai = ['openai', 'azure'];

const endpointRows: readonly EndpointRow[] = [
  // "set reasoning_effort to 'none'": where nothing is set, these have it.
  {
    providers: openai,
    models: /^gpt-5\.4(?!.*(?:chat|image))/,
    dialect: 'openai-responses',
    unlessEffort: ['none', ''],
    source: 'https://github.com/openai/openai-openapi/issues/541',
  },
  {
    providers: openai,
    models: /^gpt-(?:5\.[5-9]|[6-9])(?!.*(?:chat|image))/,
    dialect: 'openai-responses',
    unlessEffort: ['none'],
    source: 'https://github.com/GoogleChromeLabs/webmcp-tools/issues/417',
  },
  // They have no `none`: no word lets tools through.
  {
    providers: openai,
    models: /^gpt-(?:6(?:\.\d)?-(?:astra|rosalind)|6\.1-sol|6\.[2-9])/,
    dialect: 'openai-responses',
    unlessEffort: [],
    source: 'https://github.com/bolna-ai/bolna/pull/1019',
  },
  {
    providers: openai,
    models:
      /^(?:gpt-[5-9](?:\.\d)?-(?:pro|codex)|o[13]-pro|o[34](?:-mini)?-deep-research|codex-mini|computer-use-preview|gpt-daybreak)/,
    dialect: 'openai-responses',
    source: 'https://platform.openai.com/docs/models/gpt-5-pro',
  },
  {
    providers: openai,
    models: /^gpt-(?:4o(?:-mini)?-(?:audio|search)-preview|5-search-api|audio-1\.5)/,
    dialect: 'openai-chat',
    source: 'https://platform.openai.com/docs/models/gpt-4o-search-preview',
  },
];

/** @param provider slug of the catalogue. @param model as the upstream calls it. @returns the last row about it; undefined = any endpoint serves it. */
export function endpointRowFor(provider: string, model: string): EndpointRow | undefined {
  const name = bareName(model);
  return endpointRows.findLast(({ providers, models }) => providers.includes(provider) && models.test(name));
}
