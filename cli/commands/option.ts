/** Options and price maps. */
import { AppError } from '../../server/contract/errors.ts';
import { isOptionKey, optionRow } from '../../server/contract/options.ts';
import type { CommandRun } from '../command.ts';

export const list: CommandRun = async (context) => {
  const options = await (await context.client()).call('option.list');
  context.output.list(
    options,
    [
      { name: 'key', value: (row) => row.key },
      { name: 'value', value: (row) => row.value },
      { name: 'label', value: (row) => (isOptionKey(row.key) ? optionRow(row.key).label[context.language] : '') },
    ],
    (row) => row.key,
  );
};

export const get: CommandRun = async (context, _flags, key) => {
  if (!isOptionKey(key)) throw new AppError('option_unknown', { key });
  const found = (await (await context.client()).call('option.list')).find((option) => option.key === key);
  const value = found?.value ?? '';
  context.output.object({ key, value }, [value], value);
};

export const set: CommandRun = async (context, _flags, assignment) => {
  const at = assignment.indexOf('=');
  if (at <= 0) throw new AppError('usage', { detail: 'KEY=VALUE' });
  const key = assignment.slice(0, at);
  if (isOptionKey(key) && optionRow(key).secret && assignment.slice(at + 1) !== '-') {
    throw new AppError('usage', { detail: `${key} is a secret: use ${key}=- and standard input` });
  }
  const given = assignment.slice(at + 1);
  const value = given === '-' ? await context.readSecret(`${key}=-`) : given;
  await (await context.client()).call('option.set', { key, value });
  context.output.object({ key, result: 'updated' }, [`${key} updated`], key);
};

export const resetRatios: CommandRun = async (context) => {
  const client = await context.client();
  await context.confirm(
    context.language === 'zh'
      ? '将模型倍率、价格、补全与缓存倍率恢复为默认？'
      : 'Put all model, completion and cache ratios and prices back to the defaults?',
  );
  const { version } = await client.call('option.reset_ratios');
  context.output.object(
    { result: 'updated', backup: version },
    [context.language === 'zh' ? `重置模型倍率成功，备份版本 ${version}` : `ratios reset, backup version ${version}`],
    String(version),
  );
};
