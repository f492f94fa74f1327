/** Remote gateways: logging in to them and choosing between them. */
import { hostname } from 'node:os';
import { agents } from '../../../server/contract/agents.ts';
import { AppError } from '../../../server/contract/errors.ts';
import { safeText } from '../../../server/contract/safe-text.ts';
import { openClient } from '../../client.ts';
import { type CommandRun, needed, text } from '../../command.ts';
import type { Context, Environment } from '../../context.ts';
import { currentContext, readContexts, type StoredContext, writeContexts } from '../../contexts.ts';
import { accessToken, isSecure, keep, longToken, signIn, signOut } from '../../sign-in.ts';

/** A code that the user approves in the console; where the site has no such thing, or a token is given, an access token. */
export const login: CommandRun = async (context, flags, url) => {
  const given = await context.secret(flags, 'token', 'GATEWAY_TOKEN');
  const name = text(flags.name) ?? new URL(url).host;
  if (given === undefined && context.interactive && (await loginByCode(context, name, url))) return;
  const input =
    given ??
    (context.interactive
      ? await context.ask(`${context.say('访问令牌', 'access token')}: `, { hidden: true })
      : undefined);
  const { '--token-stdin': token } = needed({ '--token-stdin': input });
  const userId = text(flags.user) ?? context.env.GATEWAY_USER ?? '1';
  const { language, env } = context;
  const client = await openClient({ dataDir: '', url, token, userId, env, language, timeoutMs: 30_000 });
  const user = await client.call('user.self');
  addContext(env, name, { url, token, user: user.id });
  context.output.object(
    { context: name, url, username: user.username },
    [context.say(`已登录 ${url}，用户 ${user.username}`, `logged in to ${url} as ${user.username}`)],
    name,
  );
};

/** An access token and a sign-in of programs to the same address stay side by side. */
function addContext(env: Environment, name: string, context: StoredContext): void {
  const { contexts } = readContexts(env);
  const former = contexts[name];
  const { signedIn } = former ?? {};
  const kept = former?.url === context.url && signedIn !== undefined ? { signedIn } : {};
  const token = former?.url === context.url && context.token === '' ? former.token : context.token;
  writeContexts(env, { current: name, contexts: { ...contexts, [name]: { ...kept, ...context, token } } });
}

/** @returns false where the site lets no program sign in. */
async function loginByCode(context: Context, name: string, url: string): Promise<boolean> {
  const { env } = context;
  // Plain HTTP to another machine carries an access token at most, which its user decides to send.
  if (!isSecure(url)) return false;
  const show = (address: string, code: string, again: boolean): void =>
    context.output.note(
      `${again ? `${context.say('站点已不认得该代码，请使用新代码', 'The site no longer knows that code; use the new one')}\n` : ''}` +
        `${context.say('在浏览器中打开', 'Open in a browser')}: ${safeText(address)}\n` +
        `${context.say('核对代码', 'Compare the code')}: ${safeText(code)}`,
    );
  const waiting = () => context.say('等待批准', 'waiting for the approval');
  const issued = await context.during(signIn(url, hostname(), show), waiting);
  if (issued === null) return false;
  const place = await keep(env, name, issued);
  const { id: user, username } = issued.user;
  addContext(env, name, { url, token: '', user, signedIn: username });
  context.output.object(
    { context: name, url, username, kept_in: place },
    [context.say(`已登录 ${url}，用户 ${username}`, `logged in to ${url} as ${username}`)],
    name,
  );
  return true;
}

const bareUrl = (url: string): string => url.replace(/\/+$/, '');

/**
 * The site that programs of this machine are signed in to. Where an address is given it is that one: a token of one site is no
 * business of another. An agent may start its command without a word of which: the only one will do. @throws AppError signed_out
 */
export function signedInSite({ env, flags }: Context): { readonly name: string; readonly url: string } {
  const { current, contexts } = readContexts(env);
  const signedIn = Object.keys(contexts).filter((one) => contexts[one]?.signedIn !== undefined);
  const { url: wanted } = flags;
  const there = (one: string): boolean => bareUrl(contexts[one]?.url ?? '') === bareUrl(wanted ?? '');
  const name = flags.context ?? env.GATEWAY_CONTEXT ?? current;
  const chosen =
    wanted !== undefined
      ? [name, ...signedIn].find((one) => signedIn.includes(one) && there(one))
      : contexts[name]?.signedIn === undefined && signedIn.length === 1 && name === current
        ? signedIn[0]
        : name;
  const found = contexts[chosen ?? ''];
  if (chosen === undefined || found?.signedIn === undefined)
    throw new AppError('signed_out', { url: wanted ?? found?.url ?? 'URL' });
  return { name: chosen, url: found.url };
}

/** The token that a coding agent sends: renewed where it has to be, and nothing else on standard output. */
export const printToken: CommandRun = async (context, flags) => {
  const agent = text(flags.for);
  if (agent !== undefined && !agents.some(({ name }) => name === agent))
    throw new AppError('usage', { detail: `--for ${agent}: ${agents.map(({ name }) => name).join(', ')}` });
  const { name, url } = signedInSite(context);
  const token = await (flags.kept === true ? longToken : accessToken)(context.env, name, url);
  context.output.object({ token }, [token], token);
};

/** What an agent runs for its token: that of the site it sends it to, whichever the machine is signed in to besides. */
export const printArguments = (agent: string, url: string): readonly string[] => [
  'token',
  'print',
  '--for',
  agent,
  '--url',
  url,
];

export const logout: CommandRun = async (context) => {
  const { current, contexts } = readContexts(context.env);
  if (current === '')
    return context.output.object({ result: 'unchanged' }, [context.say('未登录', 'not logged in')], '');
  const { [current]: gone, ...rest } = contexts;
  if (gone?.signedIn !== undefined) await signOut(context.env, current, gone.url);
  writeContexts(context.env, { current: '', contexts: rest });
  context.output.object({ result: 'deleted', context: current }, [current], current);
};

export const whoami: CommandRun = async (context) => {
  if (context.url === '') {
    const line = context.say(`本机，数据目录 ${context.dataDir}`, `this machine, data directory ${context.dataDir}`);
    return context.output.object({ local: true, data_dir: context.dataDir }, [line], 'local');
  }
  const stored = context.flags.url === undefined ? currentContext(context.env, context.flags.context) : null;
  if (stored?.signedIn !== undefined && stored.token === '' && stored.url === context.url) {
    const { url, user: id, signedIn: username } = stored;
    return context.output.object({ url, id, username, programs: true }, [`${username} @ ${url}`], username);
  }
  const { id, username, role } = await (await context.client()).call('user.self');
  context.output.object({ url: context.url, id, username, role }, [`${username} @ ${context.url}`], username);
};

export const list: CommandRun = async (context) => {
  const { current, contexts } = readContexts(context.env);
  const rows = Object.entries(contexts).map(([name, { url, user }]) => ({
    name,
    url,
    user,
    current: name === current,
  }));
  context.output.list(
    rows,
    [
      { name: 'current', value: (row) => (row.current ? '*' : '') },
      { name: 'name', value: (row) => row.name },
      { name: 'url', value: (row) => row.url },
    ],
    (row) => row.name,
  );
};

/** `local` = this machine again. */
export const use: CommandRun = async (context, _flags, name) => {
  const { contexts } = readContexts(context.env);
  if (name !== 'local' && contexts[name] === undefined) throw new AppError('not_found', { what: `context ${name}` });
  writeContexts(context.env, { current: name === 'local' ? '' : name, contexts });
  context.output.object({ result: 'updated', context: name }, [name], name);
};

export const remove: CommandRun = async (context, _flags, name) => {
  const { current, contexts } = readContexts(context.env);
  if (contexts[name] === undefined) throw new AppError('not_found', { what: `context ${name}` });
  const { [name]: gone, ...rest } = contexts;
  if (gone?.signedIn !== undefined) await signOut(context.env, name, gone.url);
  writeContexts(context.env, { current: current === name ? '' : current, contexts: rest });
  context.output.object({ result: 'deleted', context: name }, [`deleted ${name}`], name);
};
