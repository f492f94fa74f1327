/**
 * Which members of an entry of Codex's catalogue does the real Codex need? The gateway's own list is given to it whole, with each member
 * left out in turn, and cut down to those that it needs: lines with ERROR, warnings about metadata, and whether it answers.
 * Not part of the tests: it needs the registry (or AGENTS_FOLDER) and a minute.
 * Run: node scripts/launch.mjs lab/agents/catalogue-members
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { agents } from '../../../server/contract/agents.ts';
import { gatewayIn } from '../../run-gateway.ts';
import { asking, homeEnvironment, programsIn, runFor } from './programs.ts';
import { doneWords, startUpstream } from './upstream.ts';

/** One of OpenAI's names, with the figures of Codex's own list, and another. */
const models = ['gpt-5.5', 'show-model'];

const dir = mkdtempSync(join(tmpdir(), 'lab-catalogue-'));
const { start, run } = gatewayIn(join(dir, 'data'));
const programs = programsIn(process.env.AGENTS_FOLDER ?? join(dir, 'programs'));

type Entry = Readonly<Record<string, unknown>>;
type Change = (entry: Entry) => Entry;

const upstream = startUpstream(() => ({ source: 'none', target: 'none' }));
let target = '';
let change: Change = (entry) => entry;
let entries: readonly Entry[] = [];
const watch = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  idleTimeout: 0,
  async fetch(request) {
    const { pathname, search } = new URL(request.url);
    const { method, headers, body } = request;
    const response = await fetch(`${target}${pathname}${search}`, { method, headers, body, decompress: false });
    if (pathname !== '/v1/models') return response;
    const list = (await response.json()) as { models: readonly Entry[] };
    entries = list.models;
    return Response.json({ models: list.models.map(change) });
  },
});

let round = 0;
/** @returns what it says that it should not, '' = nothing. */
async function saysOf(model: string, key: string): Promise<string> {
  const home = join(dir, `round-${++round}`);
  mkdirSync(join(home, '.codex'), { recursive: true });
  const config = [
    'model_provider = "gateway"',
    `model = "${model}"`,
    '[model_providers.gateway]',
    'name = "gateway"',
    `base_url = "http://127.0.0.1:${watch.port}/v1"`,
    'wire_api = "responses"',
    '[model_providers.gateway.auth]',
    'command = "printf"',
    `args = ["${key}"]`,
  ];
  writeFileSync(join(home, '.codex', 'config.toml'), `${config.join('\n')}\n`);
  const env = homeEnvironment(home, programs.path);
  const { code, words } = await runFor(['codex', ...(asking.codex?.('Say hello.') ?? [])], env, home, 60_000);
  const lines = words.split('\n').filter((line) => /\bERROR\b|metadata|failed to/i.test(line));
  const silent = words.includes(doneWords) ? '' : 'no answer';
  return [code === 0 ? '' : `exit ${code}`, silent, lines[0]?.trim().slice(0, 200) ?? ''].filter(Boolean).join(' · ');
}

const serving: Bun.Subprocess[] = [];
try {
  const codex = agents.find(({ name }) => name === 'codex');
  if (!(await programs.node()) || codex === undefined || !(await programs.install(codex)))
    throw new Error('skipped: npm cannot install codex');
  await run(['setup', '--username', 'root', '--password-stdin', '--mode', 'self'], 'password1');
  const channel = ['channel', 'add', '--type', 'practice', '--name', 'up', '--base-url', upstream.url, '--key-stdin'];
  await run([...channel, '--models', models.join(','), '--dialect', 'openai-responses'], 'none');
  const key = await run(['token', 'create', '--name', 'codex', '--quota', 'unlimited', '-q']);
  const served = start(['serve', '--port', '0']);
  serving.push(served);
  const { value } = await served.stdout.getReader().read();
  target = /https?:\/\/\S+/.exec(new TextDecoder().decode(value))?.[0] ?? '';
  for (const model of models) {
    change = (entry) => entry;
    console.log(`${model} | whole | ${(await saysOf(model, key)) || 'nothing'}`);
    const entry = entries.find(({ slug }) => slug === model) ?? {};
    const needed: string[] = ['slug'];
    for (const member of Object.keys(entry).filter((name) => name !== 'slug')) {
      change = ({ [member]: _, ...rest }) => rest;
      const says = await saysOf(model, key);
      if (says !== '') needed.push(member);
      if (says !== '') console.log(`${model} | without ${member} | ${says}`);
    }
    change = (whole) => Object.fromEntries(Object.entries(whole).filter(([name]) => needed.includes(name)));
    console.log(`${model} | ${needed.join(', ')} alone | ${(await saysOf(model, key)) || 'nothing'}`);
    console.log(
      `${model} | not needed | ${Object.keys(entry)
        .filter((name) => !needed.includes(name))
        .join(', ')}`,
    );
  }
} finally {
  for (const child of serving) {
    child.kill('SIGTERM');
    await child.exited;
  }
  await watch.stop(true);
  await upstream.stop();
  rmSync(dir, { recursive: true, force: true });
}
