/** Finds pictures, sound, films and files in a request and says what they take at most, in tokens. Everything else is words. */
import { smallPixels, usualPicture } from '../../contract/model-limits.ts';
import { rethrowOutOfMemory } from '../../contract/own-shortage.ts';
import type { MediaBucket } from '../../contract/pricing/bucket.ts';
import { valuesOf } from '../../protocols/shared/member-name.ts';
import { audioSeconds } from '../shared/recordings/length.ts';

type Members = Readonly<Record<string, unknown>>;
type Kind = 'image' | 'audio' | 'video' | 'file';

/** Where a string lies: its member's name, the object that has it, by arrays or directly, that one's own name, and the object round that. */
export interface Place {
  readonly key: string;
  readonly owner: Members;
  readonly ownerKey: string;
  readonly part: Members;
}

export interface Found {
  readonly bucket: MediaBucket | 'file' | 'words';
  /** Tokens at most; of a file as much as the model reads; of words what a translation may add to their bytes. */
  readonly max: number;
  /** Tokens where no usage is reported. */
  readonly fallback: number;
  /** UTF-16 units of the request that carry bytes instead of words. */
  readonly units: number;
  /** Words beside it: an address, or what a file of words says. */
  readonly words: string | null;
  /** A picture that is known to be small. */
  readonly small?: boolean;
}

/** A picture or sound without a known size; as in new-api (3 x 85 tiles, audio part 100), rounded up. */
const defaultMediaTokens = 1000;
/** Tokens of a document that is only named by its address, where no usage is reported. */
const defaultFileTokens = 20_000;
/** Bytes of a document for each token, where no usage is reported. */
const fileBytes = 16;
/** Source: ai.google.dev, audio: 32 tokens a second. Speech seldom takes less than 1,000 bytes a second. */
const audioRate = { tokens: 32, bytes: 1000 };
/** Source: ai.google.dev, video: some 300 tokens for a picture and its sound, one a second. Moving pictures seldom take less than 6,000 bytes a second. */
const videoRate = { tokens: 300, bytes: 6000 };

/** Members that lead to media from wherever media may lie. Tool inputs, schemas and documents are behind none of them. */
export const leading: ReadonlySet<string> = new Set([
  'content',
  'parts',
  'source',
  'output',
  'item',
  'file',
  'fileData',
  'file_data',
  'inlineData',
  'inline_data',
  'functionResponse',
  'function_response',
  'image_url',
  'video_url',
  'audio_url',
  'input_audio',
  'image',
  'images',
  'image_base64',
  'video',
  'result',
  'data',
  'url',
  'file_id',
  'file_url',
  'fileUri',
  'file_uri',
]);

/** Members of a request that lead to media. */
export const leadingFromTop: ReadonlySet<string> = new Set([
  'messages',
  'input',
  'inputs',
  'contents',
  'content',
  'requests',
  'prompt',
  'system',
  'systemInstruction',
  'system_instruction',
  'instructions',
  'item',
  'image',
  'images',
  'mask',
]);

const mimeOf = ({ owner }: Place): string => {
  const mime = owner.mimeType ?? owner.mime_type ?? owner.media_type;
  return typeof mime === 'string' ? mime.toLowerCase() : '';
};

/** The kind of media that the dialects have at a place, by the name it has there. A string under any other name is words. */
export const mediaKinds: ReadonlyMap<string, Kind | ((place: Place) => Kind | null)> = new Map<
  string,
  Kind | ((place: Place) => Kind | null)
>([
  ['image_url', 'image'],
  ['image', 'image'],
  ['images', 'image'],
  ['image_base64', 'image'],
  ['mask', 'image'],
  ['result', ({ owner }) => (owner.type === 'image_generation_call' ? 'image' : null)],
  ['video', 'video'],
  ['video_url', 'video'],
  ['audio_url', 'audio'],
  ['file_data', 'file'],
  ['file_url', 'file'],
  ['fileUri', 'file'],
  ['file_uri', 'file'],
  ['file_id', ({ owner, part }) => (isImagePart(owner) || isImagePart(part) ? 'image' : 'file')],
  ['data', dataAt],
  ['url', urlAt],
]);

function dataAt({ owner, ownerKey }: Place): Kind | null {
  if (ownerKey === 'input_audio') return 'audio';
  if (ownerKey === 'inlineData' || ownerKey === 'inline_data') return 'file';
  return ownerKey === 'source' && owner.type === 'base64' ? 'file' : null;
}

function urlAt({ owner, ownerKey, part }: Place): Kind | null {
  if (ownerKey === 'image_url') return 'image';
  if (ownerKey === 'video_url') return 'video';
  if (ownerKey === 'audio_url') return 'audio';
  if (ownerKey !== 'source' || owner.type !== 'url') return null;
  return isImagePart(part) ? 'image' : 'file';
}

const isImagePart = ({ type }: Members): boolean => type === 'image' || type === 'input_image';

/** Prefix that a translation may put in front. */
const prefix = 'data:application/octet-stream;base64,';
const dataUrl = /^data:([^;,]{0,100})((?:;[^;,]{0,100})*),/i;
const address = /^[a-z][a-z\d+.-]*:/i;
/** Some encoders break lines. What may stand at the end alone is taken off before: two classes with a letter in common try each border between them. */
const base64 = /^[A-Za-z\d+/_\r\n-]+$/;

function isBase64(text: string): boolean {
  let end = text.length;
  while (end > 0 && (text[end - 1] === '\n' || text[end - 1] === '\r')) end--;
  for (let padding = 0; padding < 2 && text[end - 1] === '='; padding++) end--;
  return base64.test(text.slice(0, end));
}

/** @returns null where no dialect has media. */
export function mediaIn(text: string, place: Place): Found | null {
  const at = mediaKinds.get(place.key) ?? null;
  const kind = typeof at === 'function' ? at(place) : at;
  if (kind === null || text === '') return null;
  const found = provenMedia(text, place, kind);
  if (found !== null) return found;
  // A translation writes what follows `data:` plainly in base64.
  const more = prefix + (/^data:/i.test(text.slice(0, 5)) ? Buffer.from(text).toString('base64') : '');
  return { bucket: 'words', max: more.length, fallback: 0, units: 0, words: `${text}\n${more}` };
}

/** @returns null for what is words like all the rest. */
function provenMedia(text: string, place: Place, kind: Kind): Found | null {
  const named = place.key === 'data' ? null : dataUrl.exec(text.slice(0, 512));
  if (named === null && place.key !== 'data' && (address.test(text.slice(0, 64)) || place.key === 'file_id'))
    return remote(kind, text);
  if (named !== null && !(named[2] ?? '').toLowerCase().endsWith(';base64')) return null;
  const data = named === null ? text : text.slice(named[0].length);
  if (!isBase64(data)) return null;
  const mime = named?.[1]?.toLowerCase() ?? mimeOf(place);
  const found = carried(text, data, {
    kind: declaredKind(mime, kind),
    frames: framesAt(place),
    tokens: tokensAt(place),
  });
  if (found === null || found.bucket !== 'words') return found;
  // Words are read out of what is a file of words for certain; else they may be read as they came.
  const isFile = kind === 'file' && (place.key === 'data' || place.key === 'file_data') && mime.startsWith('text/');
  return isFile ? found : { ...found, words: `${text}\n${found.words}` };
}

/** A media type wins over the place: some upstreams take every kind at every place. */
function declaredKind(mime: string, kind: Kind): Kind {
  if (mime === '') return kind;
  for (const one of ['image', 'audio', 'video'] as const) if (mime.startsWith(`${one}/`)) return one;
  return 'file';
}

function remote(kind: Kind, words: string): Found {
  if (kind === 'image')
    return { bucket: 'imageInput', max: usualPicture, fallback: defaultMediaTokens, units: 0, words };
  // How long it is only the upstream knows.
  return { bucket: 'file', max: 0, fallback: defaultFileTokens, units: 0, words };
}

/** Frames per second that the request asks for, one at least. */
function framesAt({ owner, part }: Place): number {
  let frames = 1;
  for (const place of [owner, part, part.videoMetadata, part.video_metadata]) {
    const fps = typeof place === 'object' && place !== null && 'fps' in place ? Number(place.fps) : Number.NaN;
    if (Number.isFinite(fps)) frames = Math.max(frames, fps);
  }
  return frames;
}

/** Tokens of a picture, or of each of a film, that the request asks for; 0 = it does not say. Source: Gemini's part media resolution. */
function tokensAt({ owner, part }: Place): number {
  let tokens = 0;
  for (const place of [owner, part])
    for (const level of valuesOf(place, 'mediaresolution')) {
      if (typeof level !== 'object' || level === null) continue;
      for (const named of valuesOf(level as Members, 'numtokens')) {
        const count = Math.ceil(Number(named));
        if (Number.isFinite(count)) tokens = Math.max(tokens, count);
      }
    }
  return tokens;
}

interface Carried {
  readonly kind: Kind;
  readonly frames: number;
  readonly tokens: number;
}

/** @param text as it stands in the request. @param data the base64 in it. */
function carried(text: string, data: string, { kind, frames, tokens: named }: Carried): Found | null {
  const units = text.length;
  const head = Buffer.from(data.slice(0, 64), 'base64');
  if (kind === 'image') {
    if (!isImage(head)) return null;
    const pixels = pixelsOf(head, data);
    const small = pixels !== null && pixels <= smallPixels;
    const max = Math.max(usualPicture, named);
    return { bucket: 'imageInput', max, fallback: defaultMediaTokens, units, words: null, small: small && named === 0 };
  }
  if (kind === 'file') return fileOf(data, units);
  if (!(kind === 'audio' ? isAudio(head) : isVideo(head))) return null;
  const bytes = Buffer.from(data, 'base64');
  const { tokens: each, bytes: rate } = kind === 'audio' ? audioRate : videoRate;
  const tokens = kind === 'audio' ? each : Math.max(each, named) * frames;
  const seconds = audioSeconds(bytes, bytes.length);
  const fallback = Math.max(defaultMediaTokens, Math.ceil(seconds * tokens));
  const max = Math.max(fallback, Math.ceil((bytes.length / rate) * tokens));
  return { bucket: kind === 'audio' ? 'audioInput' : 'videoInput', max, fallback, units, words: null };
}

const strict = new TextDecoder('utf-8', { fatal: true });

/** Data that is no text may be packed: a page takes next to no bytes then. */
function fileOf(data: string, units: number): Found {
  const bytes = Buffer.from(data, 'base64');
  const words = isPdf(bytes) ? null : wordsOf(bytes);
  if (words !== null) return { bucket: 'words', max: prefix.length, fallback: 0, units: 0, words };
  const fallback = Math.max(defaultMediaTokens, Math.ceil(bytes.length / fileBytes));
  return { bucket: 'file', max: 0, fallback, units, words: null };
}

function wordsOf(bytes: Uint8Array): string | null {
  try {
    return strict.decode(bytes);
  } catch (error) {
    rethrowOutOfMemory(error);
    return null;
  }
}

const latin = (bytes: Buffer, start: number, end: number): string => bytes.toString('latin1', start, end);

/** A reader takes the mark anywhere in the first kilobyte. Source: ISO 32000-1, annex H, note 13. */
const isPdf = (bytes: Buffer): boolean => latin(bytes, 0, 1024).includes('%PDF');

const stillBrands = /^(?:hei[cfxms]|hev[cx]|mif1|msf1|avi[fs])$/;
const isImage = (head: Buffer): boolean => {
  const start = latin(head, 0, 4);
  if (start === '\u0089PNG' || start.startsWith('\u00ff\u00d8\u00ff') || /^GIF8[79]a/.test(latin(head, 0, 6)))
    return true;
  // Four bytes of a bitmap's head are kept for nothing.
  if (start.startsWith('BM')) return latin(head, 6, 10) === '\0\0\0\0';
  if (start === 'II*\0' || start === 'MM\0*') return true;
  if (start === 'RIFF') return latin(head, 8, 12) === 'WEBP';
  return latin(head, 4, 8) === 'ftyp' && stillBrands.test(latin(head, 8, 12));
};

/** Of pictures that are common. */
const frames: ReadonlySet<number> = new Set([0xc0, 0xc1, 0xc2]);
/** Tables and comments, besides what applications add. */
const segments: ReadonlySet<number> = new Set([0xc4, 0xdb, 0xdd, 0xfe]);
/** Characters of base64 with all that stands before the size of most pictures. */
const sizeWithin = 8192;

/** @returns null where it is not seen at once. A side counts as whole patches. Sources: W3C, PNG, 11.2.1; ITU-T T.81, B.2. */
function pixelsOf(head: Buffer, data: string): number | null {
  if (latin(head, 0, 4) === '\u0089PNG' && latin(head, 12, 16) === 'IHDR')
    return area(head.readUInt32BE(16), head.readUInt32BE(20));
  if (head[0] !== 0xff || head[1] !== 0xd8) return null;
  const bytes = Buffer.from(data.slice(0, sizeWithin), 'base64');
  for (let at = 2; at + 9 <= bytes.length && bytes[at] === 0xff; at += 2 + bytes.readUInt16BE(at + 2)) {
    const marker = bytes[at + 1] ?? 0;
    if (frames.has(marker)) return area(bytes.readUInt16BE(at + 7), bytes.readUInt16BE(at + 5));
    // After any other a reader may go on elsewhere.
    if (!segments.has(marker) && (marker & 0xf0) !== 0xe0) return null;
  }
  return null;
}

const patch = 32;
const area = (width: number, height: number): number | null =>
  width === 0 || height === 0 ? null : Math.ceil(width / patch) * Math.ceil(height / patch) * patch * patch;

const isContainer = (head: Buffer): boolean =>
  latin(head, 4, 8) === 'ftyp' || latin(head, 0, 4) === '\u001aE\u00df\u00a3' || latin(head, 0, 4) === 'OggS';

const isAudio = (head: Buffer): boolean => {
  if (isContainer(head)) return true;
  const start = latin(head, 0, 4);
  if (start === 'RIFF' || start === 'RF64') return latin(head, 8, 12) === 'WAVE';
  if (start === 'fLaC' || start === 'FORM' || start.startsWith('ID3') || latin(head, 0, 5) === '#!AMR') return true;
  return head[0] === 0xff && ((head[1] ?? 0) & 0xe0) === 0xe0;
};

const isVideo = (head: Buffer): boolean => {
  if (isContainer(head)) return true;
  const start = latin(head, 0, 4);
  if (start === 'RIFF') return latin(head, 8, 12) === 'AVI ';
  return start.startsWith('FLV') || start.startsWith('\0\0\u0001') || start === '0&\u00b2u';
};
