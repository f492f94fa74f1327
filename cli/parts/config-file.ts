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
  if (existsSync(real) && !statSync(real).isFile()) refuse(written, '不是文件', 'it is no file');
  return real;
}

/** Which of the places a patch is for. */
export function stateOf(home: string, { paths }: AgentPatch): FileState {
  const places = paths.map((written) => placeIn(home, written));
  const path = places.find((place) => existsSync(place)) ?? places[0] ?? '';
  return { path, bytes: existsSync(path) ? readFileSync(path) : null };
}

const invalid = (path: string): never => refuse(path, '无法解析，未作改动', 'it cannot be parsed, and stays as it is');

/** @returns the text with the members set. @throws AppError usage where it cannot be read. */
export async function patched({ path, bytes }: FileState, { format, set }: AgentPatch): Promise<string> {
  const text = bytes?.toString('utf8') ?? '';
  if (bytes !== null && !Buffer.from(text, 'utf8').equals(bytes)) invalid(path);
  switch (format) {
    case 'json':
      return patchedJson(path, text, set);
    case 'toml':
      return patchedToml(path, text, set);
    case 'yaml':
      return patchedYaml(path, text, set);
    case 'env':
      return patchedEnv(text, set);
  }
}

type Members = AgentPatch['set'];

async function patchedJson(path: string, text: string, set: Members): Promise<string> {
  const { applyEdits, modify, parseTree } = await import('jsonc-parser');
  let result = text.trim() === '' ? '{}\n' : text;
  const errors: unknown[] = [];
  if (parseTree(result, errors as never, { allowTrailingComma: true })?.type !== 'object' || errors.length > 0)
    invalid(path);
  const tabs = /^\t/m.test(result);
  const formattingOptions = { insertSpaces: !tabs, tabSize: 2, eol: result.includes('\r\n') ? '\r\n' : '\n' };
  try {
    for (const [members, value] of set)
      result = applyEdits(result, modify(result, [...members], value, { formattingOptions }));
  } catch {
    // What stands where an object should be.
    invalid(path);
  }
  return result;
}

type Tree = Record<string, unknown>;
const isTree = (value: unknown): value is Tree => typeof value === 'object' && value !== null && !Array.isArray(value);

async function patchedToml(path: string, text: string, set: Members): Promise<string> {
  const { parse, patch } = await import('@decimalturn/toml-patch');
  try {
    const tree = parse(text) as Tree;
    for (const [members, value] of set) setIn(path, tree, members, value);
    const result = patch(text, tree);
    // Another reader judges what the library wrote, and nothing else may be another by it.
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

async function patchedYaml(path: string, text: string, set: Members): Promise<string> {
  const { isMap, parseDocument } = await import('yaml');
  const document = parseDocument(text);
  if (document.errors.length > 0 || !(document.contents === null || isMap(document.contents))) return invalid(path);
  for (const [members, value] of set) document.setIn(members, value);
  return document.toString({ lineWidth: 0 });
}

/** Lines of `NAME=value`; comments and all others stay. */
function patchedEnv(text: string, set: Members): string {
  const lines = text.split('\n');
  if (lines.at(-1) === '') lines.pop();
  for (const [[name = ''], value] of set) {
    const line = `${name}=${String(value)}`;
    const at = lines.findLastIndex((each) => new RegExp(`^\\s*(?:export\\s+)?${name}\\s*=`).test(each));
    if (at < 0) lines.push(line);
    else lines[at] = line;
  }
  return `${lines.join('\n')}\n`;
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
      // What somebody changed since is what there is to go back to.
      const isOurs = former !== undefined && bytes !== null && former.after === hashOf(bytes);
      return { path, before: isOurs ? former.before : (bytes?.toString('base64') ?? null), after: hashOf(text) };
    });
    const others = known.filter(({ path }) => !fresh.some((each) => each.path === path));
    mkdirSync(dirname(this.file), { recursive: true, mode: 0o700 });
    writeFile(this.file, JSON.stringify([...others, ...fresh]));
  }

  /** @param force also what was changed since. @returns the files that are as they were. @throws AppError usage where one was changed since. */
  undo(force: boolean): readonly string[] {
    const kept = this.read();
    for (const { path, after } of kept) {
      const isSame = existsSync(path) && hashOf(readFileSync(path)) === after;
      if (!isSame && existsSync(path) && !force)
        refuse(path, '之后被改动过；--force 放弃这些改动', 'it was changed since; --force gives these changes up');
    }
    for (const { path, before } of kept) {
      if (before === null) rmSync(path, { force: true });
      else writeFile(path, Buffer.from(before, 'base64'));
    }
    rmSync(this.file, { force: true });
    return kept.map(({ path }) => path);
  }
}
