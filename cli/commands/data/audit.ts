/** The audit trail. */
import { AppError } from '../../../server/contract/errors.ts';
import type { CommandRun } from '../../command.ts';
import { listOf } from '../../parts/list-output.ts';

export const list = listOf('audit.list', {
  columns: () => ({ id: 'id', time: 'created_at', by: 'actor', action: 'action', target: 'target', detail: 'detail' }),
  limit: 20,
});

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
