/** Sets a budget: whose, of which window, in what, how much; and a raise that ends by itself. */
import { useTranslation } from 'react-i18next';
import { parseNumber } from '../../../server/contract/amount.ts';
import {
  type BudgetHolder,
  type BudgetUnit,
  type BudgetWindow,
  budgetHolders,
  budgetUnits,
  budgetWindows,
} from '../../../server/contract/budgets.ts';
import { moneyIn, moneyOf, numberIn, valueIn } from '../../components/amount.ts';
import { MoneyField, NumberField } from '../../components/amount-fields.tsx';
import { CheckedForm } from '../../components/checked-form.tsx';
import { FormFooter, TextField } from '../../components/form.tsx';
import { Sheet } from '../../components/overlay.tsx';
import { SelectField } from '../../components/select.tsx';
import { SuggestField } from '../../components/suggest.tsx';
import { useForm } from '../../components/use-form.ts';
import { ApiError, call } from '../../lib/api.ts';
import { useMoneyDetails } from '../../lib/money.ts';
import { useOptionalRead } from '../../lib/read.ts';
import type { Budget } from './budget-columns.tsx';

/** Largest amount of anything: what a balance may be. */
const most = 1e15;
export const budgetCountBounds = { integer: true, min: 0, max: most } as const;
export const budgetMoneyBounds = { min: 0 } as const;
const hoursOfRaise = [1, 24, 168] as const;
const hourSeconds = 3600;

interface Typed {
  readonly holder: BudgetHolder;
  readonly subject: string;
  readonly window: BudgetWindow;
  readonly unit: BudgetUnit;
  readonly amount: string;
  readonly zone: string;
  readonly raise: string;
  readonly hours: string;
}

export interface BudgetDrawerProps {
  /** null = a new one. */
  readonly budget: Budget | null;
  readonly onClose: () => void;
  readonly onSaved: () => void;
}

export function BudgetDrawer({ budget, onClose, onSaved }: BudgetDrawerProps) {
  const { t } = useTranslation();
  const details = useMoneyDetails();
  const groups = useOptionalRead({ queryKey: ['groups'], queryFn: () => call('group.list') }).data ?? [];
  const textOf = (unit: BudgetUnit, amount: number): string =>
    unit === 'money' && details !== null ? moneyIn(amount, details) : numberIn(amount);
  const first = (): Typed => ({
    holder: budget?.holder ?? 'user',
    subject: budget?.subject ?? '',
    window: budget?.window ?? 'month',
    unit: budget?.unit ?? 'money',
    amount: budget === null ? '' : textOf(budget.unit, budget.amount),
    zone: budget?.zone ?? '',
    raise: budget === null || budget.raise === 0 ? '' : textOf(budget.unit, budget.raise),
    hours: String(hoursOfRaise[1]),
  });
  const amountIn = (unit: BudgetUnit, text: string, empty?: number): number =>
    valueIn(unit === 'money' ? moneyOf(text, details, budgetMoneyBounds) : parseNumber(text, budgetCountBounds), empty);
  const { typed, field, ...form } = useForm(first, async ({ hours, ...fields }) => {
    const unit = unitOf(fields);
    const raise = amountIn(unit, fields.raise, 0);
    await call('budget.set', {
      ...fields,
      unit,
      subject: await subjectOf(fields, t('budgets.noUser', { name: fields.subject })),
      amount: amountIn(unit, fields.amount),
      raise,
      raise_until: raise === 0 ? 0 : Math.floor(Date.now() / 1000) + Number(hours) * hourSeconds,
    });
    onSaved();
  });
  const amountField = (name: 'amount' | 'raise', empty?: string) => {
    const shared = { label: t(`budgets.${name}`), empty, ...field(name) };
    return unitOf(typed) === 'money' ? (
      <MoneyField {...shared} bounds={budgetMoneyBounds} />
    ) : (
      <NumberField {...shared} bounds={budgetCountBounds} unit={t(`budgets.units.${unitOf(typed)}`)} />
    );
  };
  const isNew = budget === null;
  return (
    <Sheet
      title={isNew ? t('budgets.add') : t('budgets.edit')}
      dirty={form.dirty}
      onClose={onClose}
      footer={<FormFooter form="budget-form" action={t('app.save')} onClose={onClose} disabled={form.busy} />}
    >
      <CheckedForm id="budget-form" onSubmit={form.submit}>
        <SelectField
          label={t('budgets.holder')}
          options={budgetHolders.map((name) => [name, t(`budgets.holders.${name}`)] as const)}
          disabled={!isNew}
          {...field('holder')}
        />
        {typed.holder === 'site' ? null : typed.holder === 'group' ? (
          <SuggestField
            label={t('budgets.group')}
            help={t('budgets.groupHelp')}
            options={groups.map((name) => [name, name] as const)}
            {...field('subject')}
          />
        ) : (
          <TextField
            label={t(`budgets.${typed.holder}`)}
            help={t(`budgets.${typed.holder}Help`)}
            autoComplete="off"
            required
            disabled={!isNew}
            {...field('subject')}
          />
        )}
        <SelectField
          label={t('budgets.window')}
          help={t('budgets.windowHelp')}
          options={budgetWindows.map((name) => [name, t(`budgets.windows.${name}`)] as const)}
          disabled={!isNew}
          {...field('window')}
        />
        {typed.window === 'request' ? null : (
          <SelectField
            label={t('budgets.unit')}
            options={budgetUnits.map((name) => [name, t(`budgets.units.${name}`)] as const)}
            disabled={!isNew}
            {...field('unit')}
          />
        )}
        {amountField('amount')}
        {['day', 'week', 'month'].includes(typed.window) ? (
          <TextField
            label={t('budgets.zone')}
            help={t('budgets.zoneHelp')}
            placeholder="UTC"
            autoComplete="off"
            {...field('zone')}
          />
        ) : null}
        {amountField('raise', t('budgets.noRaise'))}
        {typed.raise.trim() === '' ? null : (
          <SelectField
            label={t('budgets.raiseFor')}
            options={hoursOfRaise.map((hours) => [String(hours), t(`budgets.hours.${hours}`)] as const)}
            {...field('hours')}
          />
        )}
        <p role="alert" className="text-danger">
          {form.error}
        </p>
      </CheckedForm>
    </Sheet>
  );
}

/** A single request is bounded in tokens alone. */
const unitOf = ({ window, unit }: Pick<Typed, 'window' | 'unit'>): BudgetUnit =>
  window === 'request' ? 'tokens' : unit;

/** People are named, the API takes their ids. @throws ApiError where no user has that name. */
async function subjectOf({ holder, subject }: Pick<Typed, 'holder' | 'subject'>, unknown: string): Promise<string> {
  const name = subject.trim();
  if (holder === 'site') return '';
  if (holder !== 'user' || /^\d+$/.test(name)) return name;
  const { items } = await call('user.search', { keyword: name, p: 1, page_size: 100 });
  const found = items.find(({ username }) => username === name);
  if (found === undefined) throw new ApiError(unknown, 'params_invalid', 200, { field: 'subject' });
  return String(found.id);
}
