/** Keeps what an upstream sends from being read as a page: the relay answers at the console's own address. */

const allowed: ReadonlySet<string> = new Set([
  'application/json',
  'application/x-ndjson',
  'application/ndjson',
  'application/jsonl',
  'application/octet-stream',
  'application/vnd.amazon.eventstream',
  'application/pdf',
  'application/zip',
  'text/event-stream',
  'text/plain',
]);
const subtitles: ReadonlySet<string> = new Set([
  'text/vtt',
  'text/srt',
  'text/x-srt',
  'text/markdown',
  'text/csv',
  'application/x-subrip',
  'application/srt',
]);
/** Everything of these kinds but what is XML, which may hold programs. */
const media = /^(?:audio|image|video)\/(?!.*xml)[a-z0-9][a-z0-9.+-]*$/;
const readable = /^([a-z]+\/[a-z0-9.+-]+)((?:; ?[a-z0-9-]+="?[a-z0-9.,+_-]+"?)*)$/;

/** @param type as the upstream calls it. @returns what it may be called here. */
export function safeType(type: string): string {
  const match = readable.exec(type.trim().toLowerCase());
  const essence = match?.[1] ?? '';
  if (allowed.has(essence) || media.test(essence)) return type.trim();
  return subtitles.has(essence) ? 'text/plain; charset=utf-8' : 'application/octet-stream';
}

const json = /^application\/json(?:;|$)/i;

/** For an answer that was read and is JSON. */
export const jsonType = (type: string | undefined): string =>
  type !== undefined && json.test(type) ? type : 'application/json; charset=utf-8';

/** Only pictures, sound and films are shown. */
export const isMedia = (type: string): boolean => media.test(readable.exec(type.trim().toLowerCase())?.[1] ?? '');

/** @returns the same answer. */
export function sealed(response: Response): Response {
  const { headers } = response;
  headers.set('x-content-type-options', 'nosniff');
  headers.set('content-security-policy', "default-src 'none'; sandbox");
  // A proxy that compresses keeps frames until there are many.
  headers.set('cache-control', headers.has('x-accel-buffering') ? 'no-store, no-transform' : 'no-store');
  return response;
}
