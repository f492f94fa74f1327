/** A month's bill. */
import { AppError } from '../../../server/contract/errors.ts';
import { amountText } from '../../../server/contract/invoice-text.ts';
import { type ShareKind, shareKinds } from '../../../server/contract/statement.ts';
import { statementCsv } from '../../../server/contract/statement-csv.ts';
import { statementFocus } from '../../../server/contract/statement-focus.ts';
import { type CommandRun, text } from '../../command.ts';
import { isWhole } from '../../output.ts';
import { moneyOf } from '../../parts/money.ts';

interface Division {
  readonly by: ShareKind;
  readonly user: number | undefined;
  readonly month: string | undefined;
}

/** What each user, key, label or project had of the month. */
async function divided(context: Parameters<CommandRun>[0], division: Division): Promise<void> {
  const client = await context.client();
  const found = await context.during(client.call('statement.shares', division));
  if (isWhole(context.output.format)) return context.output.object(found, [], String(found.total.quota));
  const money = await moneyOf(context);
  context.output.list(
    [...found.shares, { ...found.total, id: 0, name: context.say('合计', 'total'), user: 0, username: '' }],
    [
      { name: division.by, value: (share) => share.name },
      ...(division.by === 'user'
        ? []
        : [{ name: 'user', value: (share: { readonly username: string }) => share.username }]),
      { name: 'requests', value: (share) => String(share.requests), right: true },
      { name: 'in', value: (share) => String(share.prompt_tokens), right: true },
      { name: 'out', value: (share) => String(share.completion_tokens), right: true },
      money.column('cost', (share) => share.quota),
    ],
    (share) => share.name,
  );
}

export const statement: CommandRun = async (context, flags) => {
  const client = await context.client();
  const [userName, tokenName] = [text(flags.user), text(flags.token)];
  const user =
    userName === undefined ? undefined : (await (await import('../user/user.ts')).findUser(client, userName)).id;
  const token =
    tokenName === undefined
      ? undefined
      : (
          await (
            await import('../token/token.ts')
          ).findToken(client, tokenName, user === undefined ? 'self' : String(user))
        ).id;
  const named = text(flags.by);
  const by = shareKinds.find((kind) => kind === named);
  if (named !== undefined && by === undefined)
    throw new AppError('usage', { detail: `--by ${named}: ${shareKinds.join(', ')}` });
  if (by !== undefined) return divided(context, { by, user, month: text(flags.month) });
  const found = await context.during(
    client.call('statement.get', {
      month: text(flags.month),
      ...(token === undefined ? { user } : { token }),
      tag: text(flags.tag),
      label: text(flags.label),
      project: text(flags.project),
      check: flags.check === true,
    }),
  );
  if (flags.focus === true) return context.output.raw(statementFocus(found));
  if (flags.csv === true) return context.output.raw(statementCsv(found, context.language));
  const money = await moneyOf(context);
  if (isWhole(context.output.format)) context.output.object(found, [], String(found.total.quota));
  else
    context.output.list(
      [...found.lines, { day: context.say('合计', 'total'), model: '', refund: false, ...found.total }],
      [
        { name: 'date', value: (line) => line.day },
        { name: 'model', value: (line) => `${line.model}${line.refund ? context.say('（退款）', ' (refund)') : ''}` },
        { name: 'requests', value: (line) => String(line.requests), right: true },
        { name: 'in', value: (line) => String(line.prompt_tokens), right: true },
        { name: 'out', value: (line) => String(line.completion_tokens), right: true },
        money.column('cost', (line) => line.quota),
      ],
      (line) => `${line.day} ${line.model}`,
    );
  if (found.bill !== null) {
    const { gross, net, tax, tax_name: name, tax_rate: rate } = found.bill;
    const dollars = (cents: number): string => `$${amountText(cents, 100)}`;
    const parts =
      rate === '' ? '' : ` (${context.say('不含税', 'net')} ${dollars(net)}, ${name} ${rate}% ${dollars(tax)})`;
    context.output.note(context.say(`应付 ${dollars(gross)}${parts}`, `amount due ${dollars(gross)}${parts}`));
  }
  if (found.check === null) return;
  const { checked, unequal } = found.check;
  context.output.note(
    context.say(`已核对 ${checked} 笔费用，${unequal} 笔不一致`, `${checked} charges recomputed, ${unequal} differ`),
  );
  if (unequal > 0) throw new AppError('check_failed', { detail: `${unequal} / ${checked}` });
};
