/** Invoices of paid orders, and what they say of their buyers. */
import { type Buyer, invoiceKinds } from '../../../server/contract/invoice.ts';
import { invoiceLines } from '../../../server/contract/invoice-text.ts';
import { type CommandRun, text } from '../../command.ts';
import { listOf } from '../../parts/list-output.ts';
import { wholeNumber } from '../../parts/numbers.ts';

export const list = listOf('invoice.list', {
  columns: () => ({
    number: 'number',
    date: 'date',
    user: 'username',
    order: 'trade_no',
    money: { value: (row) => `${row.money} ${row.currency.toUpperCase()}`, right: true },
    corrects: 'corrects',
  }),
  key: 'number',
  input: (flags) => ({
    keyword: text(flags.user),
    kind: invoiceKinds.find((one) => one === flags.kind),
    year: wholeNumber(text(flags.year), '--year'),
  }),
  limit: 20,
  own: { id: 'invoice.list_self', others: ['user'] },
});

export const get: CommandRun = async (context, _flags, number) => {
  const invoice = await (await context.client()).call('invoice.get', { number });
  const lines = invoiceLines(invoice, context.language);
  const width = Math.max(...lines.map(([label]) => Bun.stringWidth(label)));
  context.output.object(
    invoice,
    lines.flatMap(([label, value]) =>
      value
        .split('\n')
        .map(
          (line, at) =>
            `${at === 0 ? label : ''}${' '.repeat(width - (at === 0 ? Bun.stringWidth(label) : 0))}  ${line}`,
        ),
    ),
    invoice.number,
  );
};

export const buyer: CommandRun = async (context, flags) => {
  const client = await context.client();
  const name = text(flags.user);
  const user = name === undefined ? undefined : (await (await import('../user/user.ts')).findUser(client, name)).id;
  const lines = (value: string | undefined): string | undefined => value?.replaceAll('\\n', '\n');
  const change = { name: text(flags.name), address: lines(text(flags.address)), tax_id: text(flags.taxId) };
  const isChange = Object.values(change).some((value) => value !== undefined);
  const found: Buyer = isChange
    ? await client.call('invoice.save_buyer', { user, ...change })
    : await client.call('invoice.buyer', { user });
  const say = (zh: string, en: string, value: string): string[] =>
    value === '' ? [] : [`${context.say(zh, en)}: ${value.replaceAll('\n', ', ')}`];
  context.output.object(
    found,
    [
      ...say('名称', 'name', found.name),
      ...say('地址', 'address', found.address),
      ...say('税号', 'tax number', found.tax_id),
    ],
    found.name,
  );
};
