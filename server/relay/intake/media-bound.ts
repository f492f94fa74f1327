/** What pictures, sound and documents in a prompt take at most, in tokens: one row per kind. */
import type { MediaBucket } from '../../contract/buckets.ts';

/** Sums over a prompt. */
export interface MediaBound {
  /** UTF-16 units of strings that carry bytes instead of words. */
  readonly units: number;
  /** Tokens that count as words. */
  readonly words: number;
  /** Tokens, by what they may be priced as. */
  readonly media: Readonly<Partial<Record<MediaBucket, number>>>;
}

export const noMedia: MediaBound = { units: 0, words: 0, media: {} };

export interface MediaSums extends MediaBound {
  units: number;
  words: number;
  readonly media: Partial<Record<MediaBucket, number>>;
}
type Members = Readonly<Record<string, unknown>>;

interface Row {
  readonly bucket: MediaBucket | 'words';
  /** @param units of base64. */
  readonly sent: (units: number) => number;
  /** Tokens of one that is only named by its address. */
  readonly named: number;
}

/** A picture of the finest reading: 4,784 tokens. Source: docs.claude.com, vision, high resolution. */
const image: Row = { bucket: 'imageInput', sent: () => 5000, named: 5000 };
/** Gemini counts 32 tokens a second, and speech takes at least 1,000 bytes a second. Source: ai.google.dev, audio. */
const audio: Row = { bucket: 'audioInput', sent: (units) => Math.max(1000, units / 40), named: 20_000 };
/** Gemini counts some 300 tokens a second, and moving pictures take at least 6,000 bytes a second. Source: ai.google.dev, video. */
const video: Row = { bucket: 'videoInput', sent: (units) => Math.max(5000, units / 28), named: 100_000 };
/** A page takes up to 4,600 tokens and seldom less than that many bytes; 100 pages are read. Source: docs.claude.com, PDF. */
const pages: Row = { bucket: 'words', sent: (units) => Math.min(Math.max(5000, units), 500_000), named: 20_000 };

/** Members that name a file which the provider fetches or has; they are words as far as the body goes. */
export const remoteKeys: ReadonlySet<string> = new Set(['file_url', 'file_id', 'fileUri', 'file_uri']);
export const remoteTokens = pages.named;

/** Where media lie. A text that only looks like an address of data is read like any other text. */
const places = new Set([
  'data',
  'file_data',
  'url',
  'image_url',
  'video_url',
  'audio_url',
  'input_audio',
  'image',
  'images',
  'audio',
  'video',
  'file',
]);

const parents = new Map<string, Row>([
  ['image_url', image],
  ['images', image],
  ['video_url', video],
  ['audio_url', audio],
  ['input_audio', audio],
  ['inlineData', pages],
  ['inline_data', pages],
  ['source', pages],
]);

/** Where a string lies: its member's name, the object that has it, by arrays or directly, and that one's own name. */
export interface Place {
  readonly key: string;
  readonly owner: Members;
  readonly ownerKey: string;
}

/** The kind that a media type, or else the member's place, tells. @returns null where it may be words like others. */
function rowOf(text: string, { key, owner, ownerKey }: Place): Row | null {
  if (!places.has(key)) return null;
  const told = text.startsWith('data:')
    ? text.slice(5, 16)
    : (owner.mimeType ?? owner.mime_type ?? owner.media_type ?? '');
  const type = typeof told === 'string' ? told : '';
  if (type.startsWith('image/')) return image;
  if (type.startsWith('audio/')) return audio;
  if (type.startsWith('video/')) return video;
  // Words are words under every name.
  if (type.startsWith('text/')) return null;
  if (type !== '' || key === 'file_data') return pages;
  return key === 'image_url' ? image : (parents.get(key) ?? parents.get(ownerKey) ?? null);
}

/** Adds one string that may carry media. */
export function mediaBound(sums: MediaSums, text: string, place: Place): void {
  const row = rowOf(text, place);
  if (row === null) return;
  if (/^https?:/i.test(text.slice(0, 6))) {
    add(sums, row.bucket, row.named);
    return;
  }
  sums.units += text.length;
  add(sums, row.bucket, Math.ceil(row.sent(text.length)));
}

function add(sums: MediaSums, bucket: Row['bucket'], tokens: number): void {
  if (bucket === 'words') sums.words += tokens;
  else sums.media[bucket] = (sums.media[bucket] ?? 0) + tokens;
}
