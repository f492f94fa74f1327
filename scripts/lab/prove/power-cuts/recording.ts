/** What a process and its threads did to the files of one folder, as `strace` saw it: calls of the C library and of the runtime alike. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

interface Timed {
  /** Epoch seconds. */
  readonly start: number;
  readonly end: number;
}

export type FileOperation = Timed &
  (
    | { readonly kind: 'write'; readonly path: string; readonly offset: number; readonly bytes: Buffer }
    | { readonly kind: 'truncate'; readonly path: string; readonly size: number }
    | { readonly kind: 'sync'; readonly path: string }
    | { readonly kind: 'create'; readonly path: string }
    | { readonly kind: 'rename'; readonly path: string; readonly to: string }
    | { readonly kind: 'link'; readonly path: string; readonly to: string }
    | { readonly kind: 'unlink'; readonly path: string }
    | { readonly kind: 'mkdir'; readonly path: string }
  );

/** Beyond those that are understood: one of these on a file of the folder would be missing in the replay. */
const unsupported = ['writev', 'pwritev', 'pwritev2', 'copy_file_range', 'sendfile', 'fallocate', 'truncate'];
const traced = [
  ...['openat', 'lseek', 'pwrite64', 'write', 'ftruncate', 'fsync', 'fdatasync'],
  ...['link', 'linkat', 'rename', 'renameat', 'renameat2', 'unlink', 'unlinkat', 'mkdir', 'mkdirat'],
  ...unsupported,
];

/** Longer than any write. */
const longest = 16_000_000;

/** What is typed before a command that is to be recorded. @param into folder of its own. */
export const recorder = (into: string): readonly string[] => [
  ...['strace', '-f', '-ff', '-o', join(into, 'thread'), '-ttt', '-T', '-y', '-xx', '-s', String(longest)],
  ...['--seccomp-bpf', '-e', `trace=${traced.join(',')}`, '-e', 'signal=none'],
];

const hex = /\\x([0-9a-f]{2})/g;
const textOf = (escaped: string): string => {
  const bytes = [...escaped.matchAll(hex)].map(([, pair = '']) => Number.parseInt(pair, 16));
  return Buffer.from(bytes).toString();
};
const bytesOf = (escaped: string): Buffer => Buffer.from(escaped.replaceAll('\\x', ''), 'hex');

const line = /^(\d+\.\d+) (\w+)\((.*)\) += (-?\d+)(?:<([^>]*)>)?[^<]*<(\d+\.\d+)>$/s;
/** `5<path>, …` */
const descriptor = /^(\d+)<([^>]*)>(?:\(deleted\))?(?:, (.*))?$/s;
const quoted = /"((?:\\x[0-9a-f]{2})*)"/g;

/** @param root folder whose files count. @returns everything that succeeded there, in the order in which it ended; paths are relative. */
export function readRecording(from: string, root: string): FileOperation[] {
  const within = (escaped: string): string | null => {
    const path = textOf(escaped);
    return path.startsWith(`${root}/`) ? path.slice(root.length + 1) : path === root ? '' : null;
  };
  const calls: { start: number; end: number; name: string; words: string; result: number; opened: string }[] = [];
  for (const file of readdirSync(from))
    for (const text of readFileSync(join(from, file), 'latin1').split('\n')) {
      const found = line.exec(text);
      if (found === null) continue;
      const [, start = '', name = '', words = '', result = '', opened = '', took = ''] = found;
      if (Number(result) < 0) continue;
      calls.push({
        start: Number(start),
        end: Number(start) + Number(took),
        name,
        words,
        result: Number(result),
        opened,
      });
    }
  calls.sort((one, other) => one.end - other.end);
  const operations: FileOperation[] = [];
  /** By descriptor: where `write` goes on. */
  const places = new Map<number, number>();
  const appends = new Set<number>();
  const sizes = new Map<string, number>();
  for (const { start, end, name, words, result, opened } of calls) {
    const at = { start, end };
    const paths = () => [...words.matchAll(quoted)].map(([, path = '']) => within(path));
    if (name === 'openat') {
      places.set(result, 0);
      appends.delete(result);
      if (words.includes('O_APPEND')) appends.add(result);
      const path = within(opened);
      if (path === null) continue;
      if (words.includes('O_CREAT')) operations.push({ ...at, kind: 'create', path });
      if (words.includes('O_TRUNC')) {
        operations.push({ ...at, kind: 'truncate', path, size: 0 });
        sizes.set(path, 0);
      }
      continue;
    }
    const [path = null, to = null] = paths();
    if (name.startsWith('rename') || name.startsWith('link')) {
      const kind = name.startsWith('rename') ? 'rename' : 'link';
      if (path !== null && to !== null) operations.push({ ...at, kind, path, to });
      else if (path !== to) throw new Error(`a file came into the folder or left it: ${name}`);
      continue;
    }
    if (name.startsWith('unlink')) {
      if (path !== null && !words.includes('AT_REMOVEDIR')) operations.push({ ...at, kind: 'unlink', path });
      continue;
    }
    if (name.startsWith('mkdir')) {
      if (path !== null) operations.push({ ...at, kind: 'mkdir', path });
      continue;
    }
    const [, number = '', place = '', rest = ''] = descriptor.exec(words) ?? [];
    const own = within(place);
    if (unsupported.includes(name)) {
      if (own !== null || path !== null) throw new Error(`${name} is not understood: ${own ?? path}`);
      continue;
    }
    const fd = Number(number);
    if (name === 'lseek') places.set(fd, result);
    if (own === null || name === 'lseek') continue;
    if (name === 'fsync' || name === 'fdatasync') operations.push({ ...at, kind: 'sync', path: own });
    if (name === 'ftruncate') {
      operations.push({ ...at, kind: 'truncate', path: own, size: Number(rest) });
      sizes.set(own, Number(rest));
    }
    if (name !== 'write' && name !== 'pwrite64') continue;
    const [, body = ''] = /^"((?:\\x[0-9a-f]{2})*)"/.exec(rest) ?? [];
    const bytes = bytesOf(body).subarray(0, result);
    if (bytes.length !== result) throw new Error(`${result} bytes were written and ${bytes.length} recorded`);
    const known = appends.has(fd) ? (sizes.get(own) ?? Number.NaN) : (places.get(fd) ?? Number.NaN);
    const offset = name === 'pwrite64' ? Number(/, (\d+)$/.exec(rest)?.[1]) : known;
    if (Number.isNaN(offset)) throw new Error(`where ${own} was written is not known`);
    if (name === 'write') places.set(fd, offset + result);
    sizes.set(own, Math.max(sizes.get(own) ?? 0, offset + result));
    operations.push({ ...at, kind: 'write', path: own, offset, bytes });
  }
  return operations;
}
