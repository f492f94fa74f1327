/** A statement on paper: by model on the first sheet, by day in the annex. */
import { Fragment } from 'react';
import { useTranslation } from 'react-i18next';
import { amountText } from '../../../server/contract/invoice-text.ts';
import { formOfColumn } from '../../../server/contract/pricing/format.ts';
import {
  modelsOf,
  monthRange,
  periodName,
  type Statement,
  type StatementModel,
} from '../../../server/contract/statement.ts';
import { grouped, withThousands } from '../../lib/format.ts';
import { amountIn } from '../../lib/money.ts';
import { Paper, PartyBlock, printed, Sums } from './paper.tsx';

type Figures = Omit<StatementModel, 'model' | 'refund'>;

const cents = 100;

function sumOf(lines: readonly Figures[]): Figures {
  const add = (key: keyof Figures): number => lines.reduce((sum, line) => sum + line[key], 0);
  return {
    requests: add('requests'),
    prompt_tokens: add('prompt_tokens'),
    completion_tokens: add('completion_tokens'),
    quota: add('quota'),
  };
}

const dayAt = (seconds: number): string => new Date(seconds * 1000).toISOString().slice(0, 10);

export function StatementPaper({ statement }: { readonly statement: Statement }) {
  const { t, i18n } = useTranslation();
  const { bill, lines, total } = statement;
  const details = { inCurrency: statement.in_currency, quotaPerUnit: statement.quota_per_unit };
  const form = formOfColumn(
    lines.map(({ quota }) => quota),
    details,
  );
  const money = (quota: number): string => printed(amountIn(quota, details, form));
  const dollars = (amount: number): string => `$${withThousands(amountText(amount, cents))}`;
  const whose = t(`statement.of.${statement.of}`, { name: statement.name, user: statement.username });
  const range = monthRange(statement.month);
  const nameOf = ({ model, refund }: StatementModel): string => (refund ? t('statement.refund', { model }) : model);
  const cells = (of: Figures) => (
    <>
      <td className="number">{grouped(of.requests)}</td>
      <td className="number paper-minor">{grouped(of.prompt_tokens)}</td>
      <td className="number paper-minor">{grouped(of.completion_tokens)}</td>
      <td className="number">{money(of.quota)}</td>
    </>
  );
  const head = (first: string) => (
    <thead>
      <tr>
        <th scope="col">{first}</th>
        <th scope="col" className="number">
          {t('statement.requests')}
        </th>
        <th scope="col" className="number paper-minor">
          {t('statement.input')}
        </th>
        <th scope="col" className="number paper-minor">
          {t('statement.output')}
        </th>
        <th scope="col" className="number">
          {details.inCurrency ? t('paper.amountUsd') : t('statement.amount')}
        </th>
      </tr>
    </thead>
  );
  return (
    <Paper
      title={t(bill === null ? 'paper.statement' : 'paper.bill')}
      name={`${periodName(statement.month, i18n.language)} · ${statement.name} · ${bill?.seller.name ?? statement.site}`}
      from={
        <PartyBlock
          label={t('paper.seller')}
          party={bill?.seller ?? { name: statement.site, address: '', tax_id: '' }}
        />
      }
      to={
        <PartyBlock
          label={t(bill === null ? 'paper.for' : 'paper.buyer')}
          party={
            bill === null ? { name: whose, address: '', tax_id: '' } : { ...bill.buyer, name: bill.buyer.name || whose }
          }
        />
      }
      facts={[
        // What a payment names, so that it can be told whose and for when it is.
        ...(bill === null
          ? []
          : [[t('paper.reference'), `${statement.month}-${statement.of}-${statement.id}`] as const]),
        [t('paper.month'), periodName(statement.month, i18n.language)],
        [t('paper.period'), range === null ? '' : `${dayAt(range.from)} – ${dayAt(range.to)} (UTC)`],
        ...(bill === null || bill.buyer.name === '' ? [] : [[t('paper.account'), whose] as const]),
      ]}
    >
      {lines.length === 0 ? (
        <p>{t('statement.empty')}</p>
      ) : (
        <table>
          <caption>{t('paper.byModel')}</caption>
          {head(t('statement.model'))}
          <tbody>
            {modelsOf(lines).map((model) => (
              <tr key={`${model.model} ${model.refund}`}>
                <th scope="row">{nameOf(model)}</th>
                {cells(model)}
              </tr>
            ))}
          </tbody>
          <tbody className="paper-sums">
            <tr className="paper-due">
              <th scope="row">{t('statement.total')}</th>
              {cells(total)}
            </tr>
          </tbody>
        </table>
      )}
      {bill === null ? (
        <p className="paper-note">{t('paper.noInvoice')}</p>
      ) : (
        <>
          <table className="paper-amounts paper-bill">
            <caption className="sr-only">{t('paper.due')}</caption>
            <Sums
              span={1}
              rows={[
                ...(bill.tax_rate === ''
                  ? []
                  : ([
                      [t('paper.net'), dollars(bill.net)],
                      [t('paper.tax', { name: bill.tax_name, rate: bill.tax_rate }), dollars(bill.tax)],
                    ] as const)),
                [t('paper.due'), dollars(bill.gross)],
              ]}
            />
          </table>
          {bill.note === '' ? null : <p className="paper-note whitespace-pre-line">{bill.note}</p>}
        </>
      )}
      {lines.length === 0 ? null : (
        <section className="paper-annex">
          <table>
            <caption>{t('paper.byDay')}</caption>
            {head(t('paper.dayAndModel'))}
            {[...Map.groupBy(lines, (line) => line.day)].map(([day, ofDay]) => (
              <Fragment key={day}>
                <tbody>
                  <tr className="paper-day">
                    <th scope="rowgroup">{day}</th>
                    {cells(sumOf(ofDay))}
                  </tr>
                  {ofDay.map((line) => (
                    <tr key={`${line.model} ${line.refund}`}>
                      <th scope="row" className="paper-inner">
                        {nameOf(line)}
                      </th>
                      {cells(line)}
                    </tr>
                  ))}
                </tbody>
              </Fragment>
            ))}
            <tbody className="paper-sums">
              <tr className="paper-due">
                <th scope="row">{t('statement.total')}</th>
                {cells(total)}
              </tr>
            </tbody>
          </table>
        </section>
      )}
    </Paper>
  );
}
