/** Writes the settings of agents that are installed here, shows them before, and takes them back. */
import { spawnSync } from 'node:child_process';
import { existsSync, realpathSync } from 'node:fs';
import { hostname } from 'node:os';
import { dirname, join } from 'node:path';
import { homeOf } from '../../../server/app/data-dir.ts';
import {
  type Agent,
  type AgentCredential,
  type AgentPatch,
  agents,
  isSetUpByHand,
  lineFor,
} from '../../../server/contract/agents.ts';
import { AppError } from '../../../server/contract/errors.ts';
import { textIn } from '../../../server/contract/language.ts';
import { displayedKey, maxTokenNameLength } from '../../../server/contract/token-key.ts';
import { isCompiled } from '../../bench/process.ts';
import { type CommandRun, type FlagValues, text } from '../../command.ts';
import type { Context } from '../../context.ts';
import { currentContext } from '../../contexts.ts';
import { addressOf } from '../../parts/access.ts';
import { settingsFor } from '../../parts/agent-run.ts';
import { Backup, type FileState, patched, stateOf, writeFile } from '../../parts/config-file.ts';
import { ownKeyNamed, tokenFor } from './clients.ts';
import { printArguments } from './login.ts';

const backupsOf = ({ env }: Context): string =>
  join(env.XDG_STATE_HOME || join(homeOf(env), '.local', 'state'), 'gateway', 'connected');

const own = isCompiled ? realpathSync(process.execPath) : 'gateway';

/** Installed, or used before. */
function isHere(agent: Agent, { env }: Context): boolean {
  if (Bun.which(agent.program, { PATH: env.PATH ?? '' }) !== null) return true;
  return agent
    .connects({ url: '', models: [], model: '' }, { key: '' })
    .some(({ paths }) => paths.some((path) => hasPlace(homeOf(env), path)));
}

/** The file, or a folder of its own; a home folder is nobody's. */
function hasPlace(home: string, written: string): boolean {
  const path = join(home, written.replace(/^~\/?/, ''));
  return existsSync(path) || (dirname(path) !== home && existsSync(dirname(path)));
}

function chosen(context: Context, names: readonly string[]): readonly Agent[] {
  if (names.length === 0) return agents.filter((agent) => isHere(agent, context));
  return names.map((name) => {
    const agent = agents.find((each) => each.name === name);
    if (agent === undefined)
      throw new AppError('usage', { detail: `${name}: ${agents.map((each) => each.name).join(', ')}` });
    return agent;
  });
}

/** The key that a person who is signed in has at the moment; null = nobody is. */
function signedIn(agent: Agent, context: Context): string | null {
  if (agent.asksCommand !== true || !isCompiled) return null;
  const { status, stdout } = spawnSync(own, printArguments(agent.name, addressOf(context)), {
    env: { ...context.env },
    encoding: 'utf8',
    timeout: 15_000,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  return status === 0 && stdout.trim() !== '' ? stdout.trim() : null;
}

/** Whether there is neither a server here nor an access token, but a sign-in for programs, which makes no keys. */
function hasNoKeys({ url, env, flags }: Context): boolean {
  const stored = url === '' ? null : currentContext(env, flags.context);
  return stored?.url === url && stored.signedIn !== undefined && stored.token === '';
}

interface Change {
  readonly state: FileState;
  readonly patch: AgentPatch;
  readonly text: string;
}

const shown = (value: unknown, secret: string): string => {
  const line = JSON.stringify(value);
  return secret === '' ? line : line.replaceAll(secret, `${secret.slice(0, 7)}…`);
};

interface Credential {
  readonly credential: AgentCredential;
  /** For the test, for the list of models, and what is not to be shown; '' = the program fetches its own when it starts. */
  readonly key: string;
  /** Name of the key that is made for it once its user agrees; absent = it has one. */
  readonly makes?: string;
}

/** Where a program that signs in by the browser is sent. @throws AppError usage where the site lets no program sign in, server_unreachable */
async function byBrowser(context: Context, agent: Agent): Promise<Credential> {
  const url = addressOf(context);
  const able = agents.flatMap(({ name, browserClient }) => (browserClient === undefined ? [] : [name]));
  if (agent.browserClient === undefined)
    throw new AppError('usage', { detail: `${agent.name} --browser: ${able.join(', ')}` });
  const response = await fetch(`${url}/.well-known/oauth-authorization-server`, {
    redirect: 'error',
    signal: AbortSignal.timeout(10_000),
  }).catch((cause: unknown) => {
    throw new AppError('server_unreachable', { detail: `${url}: ${(cause as Error).message}` }, cause);
  });
  if (!response.ok)
    throw new AppError('usage', {
      detail: `${url}: HTTP ${response.status}`,
      detail_zh: `${url}：这里不允许程序登录（agents.sign_in）`,
      detail_en: `${url}: programs may not sign in here (agents.sign_in)`,
    });
  const { authorization_endpoint: authorization, token_endpoint: token } = Object(
    await response.json().catch(() => null),
  ) as Partial<Record<'authorization_endpoint' | 'token_endpoint', unknown>>;
  // An address of another origin would be somebody else's: Claude Code reads past it, too. RFC 8414 6.2.
  const ours = (address: unknown, path: string): string =>
    typeof address === 'string' && URL.parse(address)?.origin === new URL(url).origin ? address : `${url}${path}`;
  return {
    key: '',
    credential: { authorization: ours(authorization, '/oauth/authorize'), token: ours(token, '/oauth/token') },
  };
}

async function credentialFor(context: Context, flags: FlagValues, agent: Agent): Promise<Credential> {
  if (flags.browser === true) return byBrowser(context, agent);
  const token = text(flags.token) === undefined ? signedIn(agent, context) : null;
  if (token !== null)
    return { key: token, credential: { command: own, arguments: printArguments(agent.name, addressOf(context)) } };
  const named = text(flags.token);
  if (named !== undefined) {
    const { key } = await tokenFor(context, named);
    return { key, credential: { key } };
  }
  // A key of its own, so that what it spends is seen, bounded and ended apart from everything else.
  const name = `${agent.label} on ${hostname()}`.slice(0, maxTokenNameLength);
  const { key, reader } = await ownKeyNamed(context, name);
  if (key === null) return { key: reader, credential: { key: 'sk-…' }, makes: name };
  return { key, credential: { key } };
}

/** What is written once its user has agreed. */
async function agreed(context: Context, planned: Credential): Promise<Credential> {
  if (planned.makes === undefined) return planned;
  const client = await context.client();
  const key = displayedKey((await client.call('token.create', { name: planned.makes, unlimited_quota: true })).key);
  return { key, credential: { key } };
}

async function changesFor(context: Context, flags: FlagValues, agent: Agent, { key, credential }: Credential) {
  const settings = await context.during(settingsFor(agent, { url: addressOf(context), key, model: text(flags.model) }));
  const home = homeOf(context.env);
  const changes: Change[] = [];
  for (const patch of agent.connects(settings, credential)) {
    const state = stateOf(home, patch);
    changes.push({ state, patch, text: await patched(state, patch) });
  }
  return changes;
}

const linesOf = (changes: readonly Change[], key: string): readonly string[] =>
  changes.flatMap(({ state: { path, bytes }, patch: { set, drop = [], missing = {}, text: whole, items } }) => [
    path,
    ...Object.entries(missing)
      .filter(([name]) => bytes?.includes(name) !== true)
      .map(([name, value]) => `  + ${name} = ${shown(value, key)}`),
    ...(items?.values ?? []).map((item) => `  + ${items?.list}[] = ${shown(item, key)}`),
    ...(whole ?? '').split('\n').flatMap((line) => (line === '' ? [] : [`  + ${line}`])),
    ...set.map(([members, value]) => `  + ${members.join('.')} = ${shown(value, key)}`),
    ...drop.filter((members) => bytes?.includes(members.at(-1) ?? '')).map((members) => `  - ${members.join('.')}`),
  ]);

/** One call that costs nothing. @returns what came of it. */
async function tested(context: Context, key: string): Promise<string> {
  if (key === '') return context.say('启动时在浏览器中登录', 'it signs in by the browser when it starts');
  try {
    const response = await fetch(`${addressOf(context)}/v1/models`, {
      headers: { authorization: `Bearer ${key}` },
      signal: AbortSignal.timeout(10_000),
    });
    return response.ok ? 'ok' : `HTTP ${response.status}`;
  } catch {
    return 'unreachable';
  }
}

function undo(context: Context, selected: readonly Agent[], force: boolean): void {
  const rows = selected.map(({ name }) => ({
    name,
    files: new Backup(backupsOf(context), name).undo(force),
  }));
  const found = rows.filter(({ files }) => files.length > 0);
  context.output.object(
    found,
    found.flatMap(({ name, files }) => [
      context.say(`${name}：已恢复`, `${name}: as it was`),
      ...files.map((file) => `  ${file}`),
    ]),
    found.map(({ name }) => name).join(' '),
  );
}

/** Shows, asks, writes and tests. */
export const connect: CommandRun = async (context, flags, _first, names) => {
  if (flags.undo === true)
    return undo(context, names.length === 0 ? agents : chosen(context, names), flags.force === true);
  const selected = chosen(context, names);
  if (selected.length === 0)
    throw new AppError('not_found', {
      what: context.say('已安装的智能体', `an agent here (${agents.map(({ name }) => name).join(', ')})`),
    });
  const rows = [];
  for (const agent of selected) {
    if (flags.browser === true && names.length === 0 && agent.browserClient === undefined) continue;
    if (isSetUpByHand(agent)) {
      const line = lineFor(agent);
      const test = context.say(
        `没有可写的文件，按 ${line} 手动填写`,
        `it has no file to write: enter its values by hand (${line})`,
      );
      rows.push({ name: agent.name, files: [], test, lines: [] });
      continue;
    }
    if (names.length === 0 && agent.asksCommand !== true && hasNoKeys(context)) {
      const test = context.say('需要自己的密钥，跳过', 'left out: it takes a key of its own');
      rows.push({ name: agent.name, files: [], test, lines: [] });
      continue;
    }
    const planned = await credentialFor(context, flags, agent);
    const { makes } = planned;
    const shownChanges = await changesFor(context, flags, agent, planned);
    const newKey = makes === undefined ? [] : [context.say(`  + 新令牌 ${makes}`, `  + new API key ${makes}`)];
    const lines = [...linesOf(shownChanges, makes === undefined ? planned.key : ''), ...newKey];
    const files = shownChanges.map(({ state: { path } }) => path);
    if (flags.dryRun === true) {
      rows.push({ name: agent.name, files, test: '', lines });
      continue;
    }
    const note = agent.keepsNoKey === true && agent.note !== undefined ? [textIn(agent.note, context.language)] : [];
    context.output.note([`${agent.label}:`, ...lines, ...note].join('\n'));
    await context.confirm(context.say('写入？', 'Write this?'));
    const credential = await agreed(context, planned);
    const changes = makes === undefined ? shownChanges : await changesFor(context, flags, agent, credential);
    new Backup(backupsOf(context), agent.name).keep(changes);
    for (const { state, text: written } of changes) writeFile(state.path, written);
    rows.push({ name: agent.name, files, test: await tested(context, credential.key), lines: [] });
  }
  context.output.object(
    rows.map(({ lines: _lines, ...row }) => row),
    rows.flatMap(({ name, files, test, lines }) => [
      test === '' ? name : `${name}: ${test}`,
      ...(lines.length > 0 ? lines : files.map((file) => `  ${file}`)),
    ]),
    rows.map(({ name }) => name).join(' '),
  );
};
