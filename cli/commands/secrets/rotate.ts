/** The master key under which everything secret is stored. */
import { AppError } from '../../../server/contract/errors.ts';
import { folderFree } from '../../client.ts';
import type { CommandRun } from '../../command.ts';

export const rotate: CommandRun = async (context, flags) => {
  if (context.url !== '')
    throw new AppError('usage', { detail: '--url: the master key is changed on the machine itself' });
  const { hasEnvironmentKey, rotateMasterKey, serverOf } = await import('../../../server/app/data-dir-commands.ts');
  const fromEnvironment = hasEnvironmentKey(context.env);
  const to = (await context.secret(flags, 'key', 'GATEWAY_NEW_SECRET_KEY')) ?? '';
  // A key that only this process knew would be lost with it.
  if (fromEnvironment && to === '') throw new AppError('input_needed', { flags: '--key-stdin' });
  const keepOld = flags.keepOld === true;
  await context.confirm(
    keepOld || fromEnvironment
      ? context.say('更换主密钥？', 'Change the master key?')
      : context.say(
          '更换主密钥并删除旧密钥？之前的备份将无法解密（--keep-old 保留旧密钥）',
          'Change the master key and delete the old one? Older backups need it: --keep-old keeps it',
        ),
  );
  await folderFree(context.dataDir);
  const { values, kept } = await rotateMasterKey({ dataDir: context.dataDir, env: context.env, to, keepOld });
  const lines = [context.say(`已重新加密 ${values} 项机密`, `${values} secrets re-encrypted`)];
  if (kept !== '') lines.push(context.say(`旧密钥：${kept}`, `old key: ${kept}`));
  if (!fromEnvironment && serverOf(context.env) !== null)
    lines.push(
      context.say(
        '请把新的 secret.key 复制到其他节点后再启动它们',
        'now copy the new secret.key to the other nodes before you start them',
      ),
    );
  if (fromEnvironment)
    lines.push(context.say('请更新 GATEWAY_SECRET_KEY', 'now set GATEWAY_SECRET_KEY to the new key'));
  context.output.object({ result: 'updated', values, kept }, lines, String(values));
};
