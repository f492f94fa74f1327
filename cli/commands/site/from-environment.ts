/** What the environment says a site begins with: administrator, access token, first API key, a declarative file. Twice is once. */
import type { Language } from '../../../server/contract/enum.ts';
import { type Client, openClient } from '../../client.ts';
import { needed } from '../../command.ts';
import type { Context } from '../../context.ts';
import { MigrationLines } from '../../parts/migration-lines.ts';

const names = [
  'GATEWAY_ADMIN_USERNAME',
  'GATEWAY_ADMIN_TOKEN',
  'GATEWAY_ADMIN_TOKEN_FILE',
  'GATEWAY_INITIAL_TOKEN',
  'GATEWAY_INITIAL_TOKEN_FILE',
  'GATEWAY_CONFIG',
] as const;

const keyName = 'initial';

async function administrator(context: Context, client: Client): Promise<boolean> {
  const { GATEWAY_ADMIN_USERNAME: username } = context.env;
  if (username === undefined || (await client.call('setup.get')).status) return false;
  const { GATEWAY_ADMIN_PASSWORD: password } = needed({
    GATEWAY_ADMIN_PASSWORD: await context.secret({}, '', 'GATEWAY_ADMIN_PASSWORD'),
  });
  await client.call('setup.run', { username, password, confirmPassword: password });
  return true;
}

/** Access token of the first administrator and the first API key. @returns what changed. */
export async function credentials(context: Context, client: Client): Promise<string[]> {
  const { say } = context;
  const done: string[] = [];
  const access = await context.secret({}, '', 'GATEWAY_ADMIN_TOKEN');
  if (access !== undefined && (await client.call('local.access_token', { token: access })).result === 'updated')
    done.push(say('已设置管理员访问令牌', "the administrator's access token is set"));
  const key = await context.secret({}, '', 'GATEWAY_INITIAL_TOKEN');
  if (key !== undefined && (await client.call('token.search', { token: key })).length === 0) {
    await client.call('token.create', { name: keyName, unlimited_quota: true, key });
    done.push(say(`已创建令牌 ${keyName}`, `token ${keyName} is created`));
  }
  return done;
}

async function document(context: Context, client: Client): Promise<string[]> {
  const { GATEWAY_CONFIG: file } = context.env;
  if (file === undefined) return [];
  const { readDocument } = await import('../provisioning/document.ts');
  const content = await readDocument(context, file);
  const changes = await client.call('provision.apply', { document: content, prune: false, dry_run: false });
  const moved = changes.filter((change) => change.action !== 'unchanged').length;
  return [`${file}: ${context.say(`${moved} 处修改`, `${moved} changes`)}`];
}

/** Before a server starts on the data directory. @returns what was done, one line each. @throws AppError input_needed, document_invalid ... */
export async function fromEnvironment(context: Context): Promise<string[]> {
  if (!names.some((name) => context.env[name])) return [];
  const { dataDir, env, language } = context;
  const migrating = new MigrationLines(context.say, context.output.note).report;
  const journal = ({ zh, en }: Readonly<Record<Language, string>>) => context.output.note(context.say(zh, en));
  const local = { dataDir, url: '', token: '', userId: '', migrating, journal };
  const client = await openClient({ ...local, env, language, timeoutMs: 60_000 });
  try {
    const created = await administrator(context, client);
    return [
      ...(created ? [context.say('系统初始化成功', 'the system is set up')] : []),
      ...(await credentials(context, client)),
      ...(await document(context, client)),
    ];
  } finally {
    await client.close();
  }
}
