/** Pictures, sound and files: data URLs in both directions. */
import type { DeliveredPart, Media, Part } from '../canonical.ts';
import { guardedLookup } from './json.ts';

/** @returns the bytes of a data URL or the address itself. */
export function mediaFrom(url: string, mimeType: string | null = null): Media {
  const match = /^data:([^;,]*)(?:;[^,]*)?,/.exec(url.slice(0, 256));
  if (match === null) return { kind: 'url', url, mimeType };
  const base64 = match[0].includes(';base64');
  const data = url.slice(match[0].length);
  const bytes = base64 ? data : Buffer.from(decodeURIComponent(data)).toString('base64');
  const stated = match[1] || mimeType || 'application/octet-stream';
  return { kind: 'base64', data: bytes, mimeType: stated.startsWith('image/') ? pictureType(bytes, stated) : stated };
}

/** Beginnings of pictures: https://en.wikipedia.org/wiki/List_of_file_signatures */
const pictures: readonly (readonly [mimeType: string, at: number, start: string])[] = [
  ['image/jpeg', 0, '\xff\xd8\xff'],
  ['image/png', 0, '\x89PNG\r\n\x1a\n'],
  ['image/gif', 0, 'GIF8'],
  ['image/webp', 8, 'WEBP'],
  ['image/avif', 4, 'ftypavif'],
  ['image/heic', 4, 'ftypheic'],
  ['image/bmp', 0, 'BM'],
];
/** Common labels that no vendor takes. */
const otherNames: Readonly<Record<string, string>> = {
  'image/jpg': 'image/jpeg',
  'image/pjpeg': 'image/jpeg',
  'image/x-png': 'image/png',
};
/** As many characters as the bytes that tell. */
const firstCharacters = 16;

/** What a picture is by its first bytes; a label may be wrong. @param data in base64. */
export function pictureType(data: string, stated: string): string {
  const start = Buffer.from(data.slice(0, firstCharacters), 'base64').toString('latin1');
  const found = pictures.find(([, at, words]) => start.startsWith(words, at));
  return found?.[0] ?? guardedLookup(otherNames, stated) ?? stated;
}

const endings: Readonly<Record<string, string>> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  gif: 'image/gif',
  webp: 'image/webp',
  heic: 'image/heic',
  pdf: 'application/pdf',
  mp3: 'audio/mpeg',
  wav: 'audio/wav',
  mp4: 'video/mp4',
};

/** What stands at an address, by the ending of its path; null = it has none that is known. */
export function typeOfAddress(url: string): string | null {
  const path = url.split(/[?#]/, 1)[0] ?? '';
  return guardedLookup(endings, path.slice(path.lastIndexOf('.') + 1).toLowerCase()) ?? null;
}

/** Numbers as clients of OpenAI read them that asked for base64. */
export const packedNumbers = (values: unknown): string =>
  Buffer.from(new Float32Array(Array.isArray(values) ? values.map(Number) : []).buffer).toString('base64');

export const mediaUrl = (source: Media): string =>
  source.kind === 'url' ? source.url : `data:${source.mimeType};base64,${source.data}`;

/** What is neither sound nor a picture is a file: videos, documents. */
export function deliveredPart(source: Media, mimeType: string): DeliveredPart {
  if (mimeType.startsWith('audio/')) return { type: 'audio', source, format: mimeType.slice(6) };
  return mimeType.startsWith('image/') ? { type: 'image', source } : { type: 'file', source, name: null };
}

/** A part in Markdown, for dialects that have no place of their own for it; '' = it cannot be shown. */
export function mediaMarkdown(part: Part): string {
  if (part.type === 'image') return `![image](${mediaUrl(part.source)})`;
  return part.type === 'file' && part.source.kind !== 'id' ? `[${part.name ?? 'file'}](${mediaUrl(part.source)})` : '';
}

const audioFormats: Readonly<Record<string, string>> = {
  'audio/wav': 'wav',
  'audio/x-wav': 'wav',
  'audio/mpeg': 'mp3',
  'audio/mp3': 'mp3',
  'audio/ogg': 'ogg',
  'audio/flac': 'flac',
  'audio/aac': 'aac',
  'audio/mp4': 'm4a',
  'audio/webm': 'webm',
};

export const audioFormat = (mimeType: string): string =>
  guardedLookup(audioFormats, mimeType) ?? mimeType.replace(/^audio\//, '');
export const audioMime = (format: string): string => (format === 'mp3' ? 'audio/mpeg' : `audio/${format}`);
