/** The audit trail. */
import { AppError } from '../../../server/contract/errors.ts';
import { type CommandRun, text } from '../../command.ts';
import { isoTime } from '../../output.ts';
import { wholeNumber } from '../../parts/numbers.ts';

export const list: CommandRun = async (context, flags) => {
  const limit = wholeNumber(text(flags.limit), '--limit') ?? 20;
  const { items } = await (await context.client()).call('audit.list', { p: 1, page_size: limit });
  context.output.list(
    items,
    [
      { name: 'id', value: (row) => String(row.id), right: true },
      { name: 'time', value: (row) => isoTime(row.created_at) },
      { name: 'by', value: (row) => row.actor },
      { name: 'action', value: (row) => row.action },
      { name: 'target', value: (row) => row.target },
      { name: 'detail', value: (row) => row.detail },
    ],
    (row) => String(row.id),
  );
};

export const verify: CommandRun = async (context) => {
  const found = await context.during((await context.client()).call('audit.verify'));
  const { checked, broken } = found;
  const line =
    broken === null
      ? context.say(`审计记录完整，共检查 ${checked} 条`, `the audit trail is intact: ${checked} entries checked`)
      : context.say(`第 ${broken} 条审计记录起链条断裂`, `the audit trail is broken at entry ${broken}`);
  context.output.object(found, [line], String(checked));
  if (found.broken !== null) throw new AppError('check_failed', { detail: `#${found.broken}` });
};
