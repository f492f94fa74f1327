/** Settings of agents in files that their user has already: changed where it is meant, and put back as they were. */
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { parse as parseJsonc } from 'jsonc-parser';
import { beforeEach, expect, test } from 'vitest';
import { parse as parseYaml } from 'yaml';
import { Backup, patched, placeIn, stateOf, writeFile } from '../../cli/parts/config-file.ts';
import { type Agent, type AgentCredential, type AgentPatch, agents } from '../../server/contract/agents.ts';

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'connect-'));
});

const settings = { url: 'https://site', models: ['gpt-5', 'claude-sonnet-4-5'], model: 'gpt-5' };
const keyed = { key: 'sk-secret' };
const asked = { command: '/opt/my gateway', arguments: ['token', 'print', '--for', 'x'] };

const put = (path: string, text: string, mode = 0o644): string => {
  const full = join(home, path);
  mkdirSync(dirname(full), { recursive: true });
  writeFileSync(full, text);
  chmodSync(full, mode);
  return full;
};

async function write(patch: AgentPatch): Promise<string> {
  const state = stateOf(home, patch);
  const text = await patched(state, patch);
  new Backup(join(home, 'kept'), 'a').keep([{ state, text }]);
  writeFile(state.path, text);
  return state.path;
}

const readers = {
  json: (text: string) => parseJsonc(text),
  toml: (text: string) => Bun.TOML.parse(text),
  yaml: (text: string) => parseYaml(text),
  env: (text: string) =>
    Object.fromEntries(
      text
        .trim()
        .split('\n')
        .filter((line) => !line.startsWith('#'))
        .map((line) => line.split(/=(.*)/s)),
    ),
} as const;

/** A file of its user's with a comment, in each format. */
const existing = {
  json: '{\n  // mine\n  "theme": "dark",\n  "env": { "KEEP": "1" }, /* here */\n  "security": {"auth": {"other": true}},\n}\n',
  toml: '# mine\nmodel = "old" # stays\n\n[mcp_servers.x]\ncommand = "run"\n\n[projects."/a b"]\ntrust_level = "trusted"\n',
  yaml: '# mine\ndark-mode: true # stays\nmodel: old\n',
  env: '# mine\nKEEP=1\n',
} as const;
const broken = {
  json: '{ "theme": ',
  toml: 'model = = 1\n',
  yaml: 'a: [1\n',
  env: Buffer.from([0xff, 0xfe]).toString('latin1'),
} as const;

const patchesOf = (agent: Agent, credential: AgentCredential = keyed) => agent.connects(settings, credential);
const cases = agents.flatMap((agent) =>
  patchesOf(agent).map((patch) => [`${agent.name} ${patch.paths[0]}`, patch] as const),
);

const valueAt = (tree: unknown, path: readonly string[]): unknown =>
  path.reduce<unknown>((at, name) => (Object(at) as Record<string, unknown>)[name], tree);

test.each(cases)('%s: made where there is none, for its user alone, and gone again', async (_name, patch) => {
  const path = await write(patch);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  const tree = readers[patch.format](readFileSync(path, 'utf8'));
  for (const [members, value] of patch.set) expect(valueAt(tree, members)).toEqual(value);
  expect(new Backup(join(home, 'kept'), 'a').undo(false)).toEqual([path]);
  expect(existsSync(path)).toBe(false);
});

test.each(cases)(
  '%s: what was there stays with its comments and mode, also after a second time, and comes back byte for byte',
  async (_name, patch) => {
    const before = existing[patch.format];
    const path = put((patch.paths[0] ?? '').slice(2), before, 0o640);
    await write(patch);
    const once = readFileSync(path, 'utf8');
    await write(patch);
    expect(readFileSync(path, 'utf8')).toBe(once);
    expect(statSync(path).mode & 0o777).toBe(0o640);
    expect(once).toContain('mine');
    const tree = readers[patch.format](once);
    for (const [members, value] of patch.set) expect(valueAt(tree, members)).toEqual(value);
    const untouched = {
      json: ['theme', 'dark'],
      toml: ['mcp_servers', { x: { command: 'run' } }],
      yaml: ['dark-mode', true],
      env: ['KEEP', '1'],
    } as const;
    const [name, value] = untouched[patch.format];
    expect(valueAt(tree, [name])).toEqual(value);
    new Backup(join(home, 'kept'), 'a').undo(false);
    expect(readFileSync(path, 'utf8')).toBe(before);
    expect(statSync(path).mode & 0o777).toBe(0o640);
  },
);

test.each(cases)('%s: a file that cannot be parsed is refused and stays', async (_name, patch) => {
  const path = put((patch.paths[0] ?? '').slice(2), '');
  writeFileSync(path, broken[patch.format], 'latin1');
  await expect(write(patch)).rejects.toMatchObject({ code: 'usage' });
  expect(readFileSync(path, 'latin1')).toBe(broken[patch.format]);
});

test('a member that is no object where one is needed is refused', async () => {
  put('.claude/settings.json', '{"env": "no"}');
  const claude = patchesOf(agents.find(({ name }) => name === 'claude') as Agent)[0] as AgentPatch;
  await expect(write(claude)).rejects.toMatchObject({ code: 'usage' });
});

test('links are followed within the home folder and nowhere else, folders and files alike', () => {
  const outside = mkdtempSync(join(tmpdir(), 'outside-'));
  writeFileSync(join(outside, 'settings.json'), '{}');
  symlinkSync(outside, join(home, '.claude'));
  expect(() => placeIn(home, '~/.claude/settings.json')).toThrow(expect.objectContaining({ code: 'usage' }));
  expect(() => placeIn(home, '~/.claude/new.json')).toThrow(expect.objectContaining({ code: 'usage' }));
  put('dotfiles/config.toml', 'a = 1\n');
  mkdirSync(join(home, '.codex'));
  symlinkSync(join(home, 'dotfiles/config.toml'), join(home, '.codex/config.toml'));
  expect(placeIn(home, '~/.codex/config.toml')).toMatch(/dotfiles\/config\.toml$/);
  symlinkSync(join(home, 'nowhere'), join(home, '.gemini'));
  expect(() => placeIn(home, '~/.gemini/.env')).toThrow(expect.objectContaining({ code: 'usage' }));
  mkdirSync(join(home, '.aider.conf.yml'));
  expect(() => placeIn(home, '~/.aider.conf.yml')).toThrow(expect.objectContaining({ code: 'usage' }));
});

test('what was changed since is not undone, unless that is given up', async () => {
  const path = put('.aider.conf.yml', existing.yaml);
  const aider = patchesOf(agents.find(({ name }) => name === 'aider') as Agent)[0] as AgentPatch;
  await write(aider);
  writeFileSync(path, `${readFileSync(path, 'utf8')}new: 1\n`);
  const backup = new Backup(join(home, 'kept'), 'a');
  expect(() => backup.undo(false)).toThrow(expect.objectContaining({ code: 'usage' }));
  expect(readFileSync(path, 'utf8')).toContain('new: 1');
  backup.undo(true);
  expect(readFileSync(path, 'utf8')).toBe(existing.yaml);
  expect(backup.undo(false)).toEqual([]);
});

test('who is signed in has no key in a file: Claude Code and Codex ask the command for it', () => {
  const patches = agents.filter(({ asksCommand }) => asksCommand === true).flatMap((agent) => patchesOf(agent, asked));
  expect(JSON.stringify(patches)).not.toContain('TOKEN');
  const [claude, codex] = patches;
  expect(claude?.set).toContainEqual([['apiKeyHelper'], "'/opt/my gateway' token print --for x"]);
  expect(codex?.set.at(-1)?.[1]).toMatchObject({
    auth: { command: '/opt/my gateway', args: ['token', 'print', '--for', 'x'] },
  });
});
