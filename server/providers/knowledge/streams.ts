/** Upstreams that answer a chat in streams only, or never in one: clients are served as they ask all the same. */
import { bareName } from '../../contract/model-limits.ts';
import type { WithSource } from './row.ts';

export type Streaming = 'always' | 'never';

interface StreamingRow extends WithSource {
  /** Slugs of the catalogue. */
  readonly providers: readonly string[];
  /** Upstream names, without vendor and region. */
  readonly models: RegExp;
  readonly streams: Streaming;
  /** Only requests that offer tools. */
  readonly withTools?: true;
}

const streamingRows: readonly StreamingRow[] = [
  // "Unsupported value: 'stream' does not support true with this model."
  {
    providers: ['openai', 'azure'],
    models: /^(?:o1-pro|gpt-5-pro)(?![\w.])/,
    streams: 'never',
    source: 'https://platform.openai.com/docs/models/o1-pro',
  },
  // "This model doesn't support tool use in streaming mode."
  {
    providers: ['aws'],
    models: /^llama/,
    streams: 'never',
    withTools: true,
    source: 'https://github.com/earendil-works/pi/issues/3739',
  },
];

const rowFor = (provider: string, model: string): StreamingRow | undefined =>
  streamingRows.findLast(({ providers, models }) => providers.includes(provider) && models.test(bareName(model)));

/** @param setting what the channel's operator says; unknown words say nothing. @returns null = as it is asked. */
export function streamingAt(provider: string, model: string, hasTools: boolean, setting: unknown): Streaming | null {
  if (setting === 'always' || setting === 'never') return setting;
  const row = rowFor(provider, model);
  return row === undefined || (row.withTools === true && !hasTools) ? null : row.streams;
}

/** Whether tools decide about it. */
export const dependsOnTools = (provider: string, model: string, setting: unknown): boolean =>
  setting !== 'always' && setting !== 'never' && rowFor(provider, model)?.withTools === true;

/** Providers that a row says so of. */
export const streamingProviders: ReadonlySet<string> = new Set(streamingRows.flatMap(({ providers }) => providers));
