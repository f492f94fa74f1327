/**
 * A statement as rows of FOCUS 1.2: the columns that it makes mandatory, and four of its others. Source: FinOps Open Cost and
 * Usage Specification, "Columns" (https://focus.finops.org/focus-specification/v1-2/). An empty cell is null.
 */
import { formatUsd } from './pricing/charge.ts';
import { csvLine } from './safe-text.ts';
import type { Statement, StatementLine } from './statement.ts';

interface FocusRow {
  readonly statement: Statement;
  readonly line: StatementLine;
}

const daySeconds = 86_400;
const at = (seconds: number): string => new Date(seconds * 1000).toISOString().replace('.000Z', 'Z');
const startOf = ({ day }: StatementLine): number => Date.parse(day) / 1000;

/** Decimal without a currency; what is charged has no list price of its own, so all four costs are the same. */
const cost = ({ line: { quota }, statement: { quota_per_unit: unit } }: FocusRow): string =>
  `${quota < 0 ? '-' : ''}${formatUsd(Math.abs(quota), 6, unit)}`;

const columns: Readonly<Record<string, (row: FocusRow) => string>> = {
  BilledCost: cost,
  BillingAccountId: ({ statement: { of, id, name } }) => {
    if (of === 'user' || of === 'token') return `${of}:${id}`;
    return id === 0 ? `${of}:${name}` : `user:${id}:${of}:${name}`;
  },
  BillingAccountName: ({ statement }) => statement.name,
  BillingCurrency: () => 'USD',
  BillingPeriodEnd: ({ statement }) => at(statement.to + 1),
  BillingPeriodStart: ({ statement }) => at(statement.from),
  ChargeCategory: () => 'Usage',
  // A refund corrects the period at hand, which is no correction of an invoiced one.
  ChargeClass: () => '',
  ChargeDescription: ({ line }) =>
    line.refund ? `Refund of failed work of ${line.model}` : `Requests to ${line.model}`,
  ChargeFrequency: () => 'Usage-Based',
  ChargePeriodEnd: ({ line }) => at(startOf(line) + daySeconds),
  ChargePeriodStart: ({ line }) => at(startOf(line)),
  ConsumedQuantity: ({ line }) => String(line.prompt_tokens + line.completion_tokens),
  ConsumedUnit: () => 'Tokens',
  ContractedCost: cost,
  EffectiveCost: cost,
  InvoiceIssuerName: ({ statement }) => statement.site,
  ListCost: cost,
  PricingQuantity: ({ line }) => String(line.requests),
  PricingUnit: () => 'Requests',
  ProviderName: ({ statement }) => statement.site,
  PublisherName: ({ statement }) => statement.site,
  ServiceCategory: () => 'AI and Machine Learning',
  ServiceName: ({ line }) => line.model,
};

/** @returns a header and a row for each line of the statement, in dollars. */
export const statementFocus = (statement: Statement): string =>
  [
    Object.keys(columns),
    ...statement.lines.map((line) => Object.values(columns).map((value) => value({ statement, line }))),
  ]
    .map((cells) => `${csvLine(cells)}\r\n`)
    .join('');
