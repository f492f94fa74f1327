/** Adds or edits a user; quota is added or taken, never set, so that a payment meanwhile is not lost. */

import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { toast } from 'sonner';
import type { User } from '../../../server/contract/entities.ts';
import { maxQuota } from '../../../server/contract/pricing/share.ts';
import { moneyIn, moneyOf, valueIn } from '../../components/amount.ts';
import { MoneyField } from '../../components/amount-fields.tsx';
import { CheckedForm } from '../../components/checked-form.tsx';
import { FormFooter, TextField } from '../../components/form.tsx';
import { Confirm, Sheet } from '../../components/overlay.tsx';
import { SelectField } from '../../components/select.tsx';
import { type FieldOf, useForm } from '../../components/use-form.ts';
import { call } from '../../lib/api.ts';
import { attempt } from '../../lib/attempt.ts';
import { useMoney, useMoneyDetails } from '../../lib/money.ts';
import { usePageTitle } from '../../lib/page-title.ts';
import { roleLabel } from '../../lib/session.ts';
import { UserStatus } from './user-columns.tsx';

export interface UserDrawerProps {
  /** null = a new one. */
  readonly user: User | null;
  readonly groups: readonly string[];
  readonly onClose: () => void;
  readonly onSaved: () => void;
}

/** Quota may be taken as well. */
export const signedBounds = { min: -maxQuota } as const;
const bindings = ['email', 'github_id', 'oidc_id', 'wechat_id', 'telegram_id', 'linux_do_id'] as const;

const Heading = ({ children }: { readonly children: string }) => (
  <h2 className="mb-2 font-semibold text-ink-1">{children}</h2>
);

/** Those that are connected, a line each, and the others in one. */
function BindingList({ user }: { readonly user: User }) {
  const { t } = useTranslation();
  const bound = bindings.filter((name) => user[name] !== '');
  const others = bindings.filter((name) => user[name] === '');
  return (
    <section className="mb-4 border-t border-line pt-4">
      <Heading>{t('users.bindings')}</Heading>
      <dl className="grid gap-1 text-[12px]">
        {bound.map((name) => (
          <div key={name} className="grid grid-cols-[120px_minmax(0,1fr)]">
            <dt className="text-ink-3">{t(`users.${name}`)}</dt>
            <dd className="truncate">{user[name]}</dd>
          </div>
        ))}
        {others.length === 0 ? null : (
          <div className="flex flex-wrap gap-x-2 text-ink-3">
            <dd className="order-first">{t('app.named', { name: t('users.notBound'), value: '' }).trim()}</dd>
            {others.map((name) => (
              <dt key={name}>{t(`users.${name}`)}</dt>
            ))}
          </div>
        )}
      </dl>
    </section>
  );
}

/** What is there and what is added: never overwritten. */
interface BalanceProps {
  readonly quota: number;
  readonly added: number;
  readonly field: ReturnType<FieldOf<{ added: string }>>;
}

function Balance({ quota, added, field }: BalanceProps) {
  const { t } = useTranslation();
  const money = useMoney();
  const details = useMoneyDetails();
  return (
    <section className="mb-4 flow-root rounded-3 bg-sunken px-4 pt-3">
      <p className="mb-3 flex items-baseline gap-2">
        <span className="text-ink-2">{t('users.quota')}</span>
        <b className="text-[20px] leading-7 font-semibold">{money(quota)}</b>
      </p>
      <MoneyField
        label={t('users.addQuota')}
        help={
          added === 0
            ? t('users.addQuotaHint')
            : t('users.addQuotaHelp', { now: money(quota), after: money(quota + added) })
        }
        empty={details === null ? '' : moneyIn(0, details)}
        bounds={signedBounds}
        {...field}
      />
    </section>
  );
}

export function UserDrawer({ user, groups, onClose, onSaved }: UserDrawerProps) {
  const { t } = useTranslation();
  const details = useMoneyDetails();
  const [resetting, setResetting] = useState(false);
  const title = user === null ? t('users.add') : t('users.edit', { name: user.username });
  usePageTitle(title);
  const first = () => ({
    username: user?.username ?? '',
    display_name: user?.display_name ?? '',
    password: '',
    group: user?.group ?? 'default',
    added: '',
  });
  const { typed, field, ...form } = useForm(first, async ({ username, display_name, password, group, added }) => {
    if (user === null && (username.trim() === '' || password === '')) throw new Error(t('users.needBoth'));
    if (user === null) await call('user.create', { username, display_name, password });
    else {
      await call('user.update', {
        ...{ id: user.id, username, display_name, group },
        ...(password === '' ? {} : { password }),
        ...(added.trim() === '' ? {} : { add_quota: valueIn(moneyOf(added, details, signedBounds)) }),
      });
    }
    toast.success(user === null ? t('users.created') : t('users.updated'));
    onSaved();
  });
  const sum = moneyOf(typed.added, details, signedBounds);
  const more = sum.kind === 'value' ? sum.value : 0;

  return (
    <Sheet
      title={title}
      dirty={form.dirty}
      onClose={onClose}
      footer={<FormFooter form="user-form" action={t('app.save')} onClose={onClose} disabled={form.busy} />}
    >
      <CheckedForm id="user-form" onSubmit={form.submit}>
        {user === null ? null : (
          <>
            <p className="mb-3 flex flex-wrap items-center gap-x-3 text-[12px] text-ink-2">
              <UserStatus user={user} />
              <span>{t(roleLabel(user.role))}</span>
              <span className="text-ink-3">#{user.id}</span>
            </p>
            <Balance quota={user.quota} added={more} field={field('added')} />
          </>
        )}
        <TextField label={t('users.username')} autoComplete="off" {...field('username')} />
        <TextField label={t('users.displayName')} autoComplete="off" {...field('display_name')} />
        <TextField
          label={t('users.password')}
          help={user === null ? t('users.passwordNew') : t('users.passwordHelp')}
          type="password"
          autoComplete="new-password"
          {...field('password')}
        />
        {user === null ? null : (
          <SelectField
            label={t('users.group')}
            options={[...new Set([...groups, typed.group])].map((name) => [name, name] as const)}
            {...field('group')}
          />
        )}
        <p role="alert" className="text-danger">
          {form.error}
        </p>
      </CheckedForm>
      {user === null ? null : (
        <>
          <BindingList user={user} />
          <section className="border-t border-line pt-4 pb-2">
            <Heading>{t('users.security')}</Heading>
            <p className="mb-2 text-[12px] leading-4 text-ink-3">{t('users.resetSecondHelp')}</p>
            <button type="button" className="button text-danger" onClick={() => setResetting(true)}>
              {t('users.resetSecond')}
            </button>
            {resetting ? (
              <Confirm
                title={t('users.resetSecondTitle', { name: user.username })}
                text={t('users.resetSecondText')}
                action={t('users.resetSecond')}
                onClose={() => setResetting(false)}
                onConfirm={() => {
                  setResetting(false);
                  void attempt(() => call('second_factor.reset', { id: user.id }), t('users.secondReset'));
                }}
              />
            ) : null}
          </section>
        </>
      )}
    </Sheet>
  );
}
