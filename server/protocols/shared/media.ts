/** Pictures, sound and files: data URLs in both directions. */
import type { DeliveredPart, Media, Part } from '../canonical.ts';
import { guardedLookup } from './json.ts';

/** @returns the bytes of a data URL or the address itself. */
export function mediaFrom(url: string, mimeType: string | null = null): Media {
  const match = /^data:([^;,]*)(?:;[^,]*)?,/.exec(url.slice(0, 256));
  if (match === null) return { kind: 'url', url, mimeType };
  const base64 = match[0].includes(';base64');
  const data = url.slice(match[0].length);
  return {
    kind: 'base64',
    data: base64 ? data : Buffer.from(decodeURIComponent(data)).toString('base64'),
    mimeType: match[1] || mimeType || 'application/octet-stream',
  };
}

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
