/** Remote gateways: logging in to them and choosing between them. */
import { AppError } from '../../../server/contract/errors.ts';
import { openClient } from '../../client.ts';
import { type CommandRun, needed, text } from '../../command.ts';
import { readContexts, writeContexts } from '../../contexts.ts';

/** A full-access token and the id of its user, checked before they are kept. */
export const login: CommandRun = async (context, flags, url) => {
  const input =
    (await context.secret(flags, 'token', 'GATEWAY_TOKEN')) ??
    (context.interactive
      ? await context.ask(`${context.say('访问令牌', 'access token')}: `, { hidden: true })
      : undefined);
  const { '--token-stdin': token } = needed({ '--token-stdin': input });
  const userId = text(flags.user) ?? context.env.GATEWAY_USER ?? '1';
  const { language, env } = context;
  const client = await openClient({ dataDir: '', url, token, userId, env, language, timeoutMs: 30_000 });
  const user = await client.call('user.self');
  const name = text(flags.name) ?? new URL(url).host;
  const { contexts } = readContexts(env);
  writeContexts(env, { current: name, contexts: { ...contexts, [name]: { url, token, user: user.id } } });
  context.output.object(
    { context: name, url, username: user.username },
    [context.say(`已登录 ${url}，用户 ${user.username}`, `logged in to ${url} as ${user.username}`)],
    name,
  );
};

export const logout: CommandRun = async (context) => {
  const { current, contexts } = readContexts(context.env);
  if (current === '')
    return context.output.object({ result: 'unchanged' }, [context.say('未登录', 'not logged in')], '');
  const { [current]: _gone, ...rest } = contexts;
  writeContexts(context.env, { current: '', contexts: rest });
  context.output.object({ result: 'deleted', context: current }, [current], current);
};

export const whoami: CommandRun = async (context) => {
  if (context.url === '') {
    const line = context.say(`本机，数据目录 ${context.dataDir}`, `this machine, data directory ${context.dataDir}`);
    return context.output.object({ local: true, data_dir: context.dataDir }, [line], 'local');
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
  const { [name]: _gone, ...rest } = contexts;
  writeContexts(context.env, { current: current === name ? '' : current, contexts: rest });
  context.output.object({ result: 'deleted', context: name }, [`deleted ${name}`], name);
};
