/** Files of other programs in the user's home: some members are set, everything else stays, comments too; and what was there can be put back. */
import { createHash } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  closeSync,
  existsSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import type { AgentPatch } from '../../server/contract/agents.ts';
import { AppError } from '../../server/contract/errors.ts';

/** As it is on the disk; null = it is not there. */
export interface FileState {
  readonly path: string;
  readonly bytes: Buffer | null;
}

const refuse = (path: string, zh: string, en: string): never => {
  throw new AppError('usage', { detail: path, detail_zh: `${path}：${zh}`, detail_en: `${path}: ${en}` });
};

const isInside = (folder: string, path: string): boolean => {
  const way = relative(folder, path);
  return way !== '' && way !== '..' && !way.startsWith(`..${sep}`);
};

/** The deepest part of the path that exists, links followed. */
function existingPart(path: string): string {
  for (let at = path; ; at = dirname(at)) {
    if (isThere(at)) return at;
    if (dirname(at) === at) return at;
  }
}

function isThere(path: string): boolean {
  try {
    lstatSync(path);
    return true;
  } catch {
    return false;
  }
}

/** @param written `~/.codex/config.toml`. @returns the real place of it, links within the home followed. @throws AppError usage where it leads out of the home or is no file. */
export function placeIn(home: string, written: string): string {
  if (home === '' || !existsSync(home))
    return refuse(written, '没有主目录（HOME）', 'there is no home directory (HOME)');
  const root = realpathSync(home);
  const path = join(root, written.replace(/^~\/?/, ''));
  const part = existingPart(path);
  let real: string;
  try {
    real = join(realpathSync(part), relative(part, path));
  } catch {
    return refuse(written, '是无效的链接', 'it is a link to nothing');
  }
  if (!isInside(root, real)) refuse(written, '链接指向主目录之外', 'it is a link out of the home directory');
  const found = statSync(part);
  if (part === path ? !found.isFile() : !found.isDirectory()) refuse(written, '不是文件', 'it is no file');
  if (part === path && (found.mode & writable) === 0) refuse(written, '是只读文件', 'it is read-only');
  return real;
}

const writable = 0o222;

/** Which of the places a patch is for. */
export function stateOf(home: string, { paths, hides }: AgentPatch): FileState {
  const places = paths.map((written) => placeIn(home, written));
  const path = places.find((place) => existsSync(place)) ?? places[0] ?? '';
  if (hides !== undefined && !existsSync(path) && existsSync(placeIn(home, hides)))
    refuse(
      hides,
      `有了 ${paths[0]} 就不再读取它；请先迁移`,
      `it would no longer be read beside ${paths[0]}; migrate it first`,
    );
  return { path, bytes: existsSync(path) ? readFileSync(path) : null };
}

const invalid = (path: string): never => refuse(path, '无法解析，未作改动', 'it cannot be parsed, and stays as it is');

/** @returns the text with the members set, and others gone. @throws AppError usage where it cannot be read. */
export async function patched({ path, bytes }: FileState, patch: AgentPatch): Promise<string> {
  const { format, set, drop = [], text: whole = '' } = patch;
  const text = bytes?.toString('utf8') ?? '';
  if (bytes !== null && !Buffer.from(text, 'utf8').equals(bytes)) invalid(path);
  switch (format) {
    case 'json':
      return patchedJson(path, text, patch);
    case 'toml':
      return patchedToml(path, text, set);
    case 'yaml':
      return patchedYaml(path, text, patch);
    case 'env':
      return patchedEnv(text, set, drop);
    case 'text':
      return whole;
  }
}

type Members = AgentPatch['set'];

type Dropped = NonNullable<AgentPatch['drop']>;

async function patchedJson(path: string, text: string, { set, drop = [], missing = {} }: AgentPatch): Promise<string> {
  const { applyEdits, findNodeAtLocation, modify, parse, parseTree } = await import('jsonc-parser');
  let result = text.trim() === '' ? '{}\n' : text;
  const errors: unknown[] = [];
  if (parseTree(result, errors as never, { allowTrailingComma: true })?.type !== 'object' || errors.length > 0)
    invalid(path);
  const tabs = /^\t/m.test(result);
  const formattingOptions = { insertSpaces: !tabs, tabSize: 2, eol: result.includes('\r\n') ? '\r\n' : '\n' };
  const before: unknown = parse(result, [], { allowTrailingComma: true });
  const added = Object.entries(missing).filter(([name]) => memberAt(before, [name]) === undefined);
  const all: Members = [...added.map(([name, value]) => [[name], value] as const), ...set];
  try {
    for (const [members, value] of all)
      result = applyEdits(result, modify(result, [...members], value, { formattingOptions }));
    for (const members of drop) {
      const tree = parseTree(result, [], { allowTrailingComma: true });
      if (tree !== undefined && findNodeAtLocation(tree, [...members]) !== undefined)
        result = applyEdits(result, modify(result, [...members], undefined, { formattingOptions }));
    }
  } catch {
    // What stands where an object should be.
    invalid(path);
  }
  // Of members that stand there twice, programs read the last.
  const read: unknown = parse(result, [], { allowTrailingComma: true });
  const isSet = all.every(([members, value]) => Bun.deepEquals(memberAt(read, members), value));
  if (!isSet || drop.some((members) => memberAt(read, members) !== undefined)) invalid(path);
  return result;
}

const memberAt = (tree: unknown, path: readonly string[]): unknown =>
  path.reduce<unknown>((at, name) => (isTree(at) ? at[name] : undefined), tree);

type Tree = Record<string, unknown>;
const isTree = (value: unknown): value is Tree => typeof value === 'object' && value !== null && !Array.isArray(value);

async function patchedToml(path: string, text: string, set: Members): Promise<string> {
  const { parse, patch } = await import('@decimalturn/toml-patch');
  try {
    const tree = parse(text) as Tree;
    for (const [members, value] of set) setIn(path, tree, members, value);
    const result = patch(text, tree);
    // A second parser reads what the library wrote: only the patched members may differ.
    Bun.TOML.parse(result);
    if (!Bun.deepEquals(parse(result), tree)) invalid(path);
    return result;
  } catch {
    return invalid(path);
  }
}

function setIn(path: string, tree: Tree, [name = '', ...deeper]: readonly string[], value: unknown): void {
  if (deeper.length === 0) {
    tree[name] = value;
    return;
  }
  const inner = tree[name] ?? {};
  if (isTree(inner)) {
    tree[name] = inner;
    setIn(path, inner, deeper, value);
  } else invalid(path);
}

/** The members alone are written: what a writer of YAML makes of all others may be another value to another reader. */
async function patchedYaml(path: string, text: string, { set, missing = {}, items }: AgentPatch): Promise<string> {
  const { isMap, isNode, isScalar, parseDocument, stringify } = await import('yaml');
  const eol = eolOf(text);
  let result = text;
  const write = (name: string, value: unknown, keeps: boolean): void => {
    const document = parseDocument(result);
    const { contents } = document;
    if (document.errors.length > 0 || !(contents === null || (isMap(contents) && contents.flow !== true)))
      invalid(path);
    const members = isMap(contents) ? contents.items : [];
    const found = members.find(({ key }) => isScalar(key) && key.value === name);
    if (found !== undefined && keeps) return;
    const written = stringify(value, { lineWidth: 0 }).trimEnd();
    const place = found !== undefined && isNode(found.value) ? found.value.range : null;
    if (found === undefined) {
      const first = members[0]?.key;
      const start = isNode(first) ? (first.range?.[0] ?? 0) : 0;
      const indent = ' '.repeat(start - (result.lastIndexOf('\n', start - 1) + 1));
      result = `${withEnd(result, eol)}${indent}${name}: ${written}${eol}`;
    } else if (place == null) invalid(path);
    else {
      const space = /\s$/.test(result.slice(0, place[0])) ? '' : ' ';
      const rest = result.slice(place[1]);
      const end = result.slice(place[0], place[1]).endsWith('\n') ? eol : '';
      result = result.slice(0, place[0]) + space + written + end + rest;
    }
    document.set(name, value);
    const read = parseDocument(result);
    if (read.errors.length > 0 || !Bun.deepEquals(read.toJS(), document.toJS())) invalid(path);
  };
  for (const [name, value] of Object.entries(missing)) write(name, value, true);
  for (const [[name = ''], value] of set) write(name, value, false);
  for (const value of items?.values ?? []) result = await withItem(path, result, items?.list ?? '', value);
  return result;
}

/** An item of a list of YAML, in the place of the one of its name, else at the list's end. */
async function withItem(path: string, text: string, list: string, value: { readonly name: string }): Promise<string> {
  const { isMap, isNode, isSeq, parseDocument, stringify } = await import('yaml');
  const eol = eolOf(text);
  const document = parseDocument(text);
  const { contents } = document;
  if (document.errors.length > 0 || !isMap(contents) || contents.flow === true) return invalid(path);
  const lines = stringify(value, { lineWidth: 0 }).trimEnd().split('\n');
  const found = contents.get(list, true);
  let result: string;
  if (found === undefined) {
    document.set(list, [value]);
    result = `${withEnd(text, eol)}${list}:${eol}${lines.map((line, at) => `${at === 0 ? '  - ' : '    '}${line}${eol}`).join('')}`;
  } else {
    if (!isSeq(found) || found.flow === true || found.range == null || found.items.length === 0) return invalid(path);
    const [start, end] = found.range;
    const indent = ' '.repeat(start - (text.lastIndexOf('\n', start - 1) + 1));
    const former = found.items.findIndex((item) => isMap(item) && item.get('name') === value.name);
    const node = found.items[former];
    if (isMap(node) && Bun.deepEquals(node.toJS(document), value)) return text;
    const inner = lines.join(`${eol}${indent}  `);
    if (isNode(node) && node.range != null) {
      const [from, to] = node.range;
      const ending = text.slice(from, to).endsWith('\n') ? eol : '';
      result = text.slice(0, from) + inner + ending + text.slice(to);
      document.setIn([list, former], value);
    } else {
      result = `${withEnd(text.slice(0, end), eol)}${indent}- ${inner}${eol}${text.slice(end)}`;
      document.addIn([list], value);
    }
  }
  const read = parseDocument(result);
  return read.errors.length === 0 && Bun.deepEquals(read.toJS(), document.toJS()) ? result : invalid(path);
}

const eolOf = (text: string): string => (text.includes('\r\n') ? '\r\n' : '\n');
const withEnd = (text: string, eol: string): string => (text === '' || text.endsWith('\n') ? text : text + eol);

/** As dotenv reads it: a value in quotes may have lines of its own. https://github.com/motdotla/dotenv/blob/master/lib/main.js */
const assignments =
  /^(\s*(?:export\s+)?([\w.-]+)(?:\s*=\s*?|:\s+?))(\s*'(?:\\'|[^'])*'|\s*"(?:\\"|[^"])*"|\s*`(?:\\`|[^`])*`|[^#\r\n]+)?[^\S\r\n]*(?:#[^\r\n]*)?(?:\r?\n|$)/gm;

/** `NAME=value`; comments and all others stay. */
function patchedEnv(text: string, set: Members, drop: Dropped): string {
  const eol = eolOf(text);
  let result = text;
  for (const [[name = ''], value] of set) {
    const at = [...result.matchAll(assignments)].findLast((found) => found[2] === name);
    if (at === undefined) result = `${withEnd(result, eol)}${name}=${String(value)}${eol}`;
    else {
      const [, before = '', , former = ''] = at;
      const start = at.index + before.length;
      result = result.slice(0, start) + String(value) + result.slice(start + former.length);
    }
  }
  const gone = drop.map(([name]) => name);
  return result.replace(assignments, (line, _before, name: string) => (gone.includes(name) ? '' : line));
}

/** In one step, with the mode and owner that it had; what is made holds a key and is the user's alone. */
export function writeFile(path: string, bytes: Buffer | string): void {
  const before = existsSync(path) ? statSync(path) : null;
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const beside = `${path}.gateway-${process.pid}`;
  try {
    writeFileSync(beside, bytes, { mode: 0o600, flag: 'wx' });
    if (before !== null) {
      if (before.uid !== statSync(beside).uid || before.gid !== statSync(beside).gid)
        chownSync(beside, before.uid, before.gid);
      chmodSync(beside, before.mode & 0o7777);
    }
    const handle = openSync(beside, 'r');
    fsyncSync(handle);
    closeSync(handle);
    renameSync(beside, path);
  } catch (error) {
    rmSync(beside, { force: true });
    throw error;
  }
}

// --- what was there

interface Kept {
  readonly path: string;
  /** Base64; null = there was no file. */
  readonly before: string | null;
  /** SHA-256 of what was written. */
  readonly after: string;
  /** SHA-256 of what was written before that; an interrupted run leaves one of these. */
  readonly earlier?: readonly string[];
  /** The topmost folder that was made for it. */
  readonly made?: string;
}

const isOurs = ({ after, earlier = [] }: Kept, hash: string): boolean => after === hash || earlier.includes(hash);

/** The first folder above it that is not there. */
function missingFolder(path: string): string | null {
  let missing: string | null = null;
  for (let at = dirname(path); !existsSync(at); at = dirname(at)) missing = at;
  return missing;
}

/** Folders that were made for the file, as far as nothing else is in them. */
function removeFolders(path: string, made: string): void {
  for (let at = dirname(path); at === made || isInside(made, at); at = dirname(at)) {
    try {
      rmdirSync(at);
    } catch {
      return;
    }
  }
}

const hashOf = (bytes: Buffer | string): string => createHash('sha256').update(bytes).digest('hex');

/** Backups of one program; the first one stays until it is undone, however often it is connected. */
export class Backup {
  private readonly file: string;

  constructor(folder: string, agent: string) {
    this.file = join(folder, `${agent}.json`);
  }

  private read(): readonly Kept[] {
    return existsSync(this.file) ? (JSON.parse(readFileSync(this.file, 'utf8')) as Kept[]) : [];
  }

  /** Before the files are written. */
  keep(changes: readonly { readonly state: FileState; readonly text: string }[]): void {
    const known = this.read();
    const fresh = changes.map(({ state: { path, bytes }, text }): Kept => {
      const former = known.find((each) => each.path === path);
      const after = hashOf(text);
      // What somebody changed since is what there is to go back to.
      if (former !== undefined && bytes !== null && isOurs(former, hashOf(bytes)))
        return { ...former, after, earlier: [...new Set([...(former.earlier ?? []), former.after])] };
      const made = missingFolder(path);
      return { path, before: bytes?.toString('base64') ?? null, after, ...(made === null ? {} : { made }) };
    });
    const others = known.filter(({ path }) => !fresh.some((each) => each.path === path));
    mkdirSync(dirname(this.file), { recursive: true, mode: 0o700 });
    writeFile(this.file, JSON.stringify([...others, ...fresh]));
  }

  /** @param force also what was changed since. @returns the files that are as they were. @throws AppError usage where one was changed since. */
  undo(force: boolean): readonly string[] {
    const kept = this.read();
    for (const one of kept) {
      const { path, before } = one;
      if (existsSync(dirname(path)) && realpathSync(dirname(path)) !== dirname(path))
        refuse(path, '现在位于链接之后', 'it is behind a link now');
      if (!existsSync(path)) continue;
      if (!statSync(path).isFile()) refuse(path, '不是文件', 'it is no file');
      const bytes = readFileSync(path);
      const isKnown = isOurs(one, hashOf(bytes)) || bytes.toString('base64') === before;
      if (!isKnown && !force)
        refuse(path, '之后被改动过；--force 放弃这些改动', 'it was changed since; --force gives these changes up');
    }
    for (const { path, before, made } of kept) {
      if (before !== null) writeFile(path, Buffer.from(before, 'base64'));
      else {
        rmSync(path, { force: true });
        if (made !== undefined) removeFolders(path, made);
      }
    }
    rmSync(this.file, { force: true });
    return kept.map(({ path }) => path);
  }
}
