/** Adds or edits a user; quota is added or taken, never set, so that a payment meanwhile is not lost. */

import { useTranslation } from 'react-i18next';
import { toast } from 'sonner';
import type { User } from '../../../server/contract/entities.ts';
import { maxQuota } from '../../../server/contract/pricing/share.ts';
import { moneyOf, valueIn } from '../../components/amount.ts';
import { MoneyField } from '../../components/amount-fields.tsx';
import { CheckedForm } from '../../components/checked-form.tsx';
import { FormFooter, TextField } from '../../components/form.tsx';
import { Sheet } from '../../components/overlay.tsx';
import { SelectField } from '../../components/select.tsx';
import { useForm } from '../../components/use-form.ts';
import { call } from '../../lib/api.ts';
import { attempt } from '../../lib/attempt.ts';
import { useMoney, useMoneyDetails } from '../../shell/money.ts';

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

function BindingList({ user }: { readonly user: User }) {
  const { t } = useTranslation();
  return (
    <>
      <h2 className="mb-1 text-[12px] font-medium text-ink-2">{t('users.bindings')}</h2>
      <dl className="mb-4 grid grid-cols-[120px_minmax(0,1fr)] gap-y-1 text-[12px]">
        {bindings.map((name) => (
          <div key={name} className="contents">
            <dt className="text-ink-3">{t(`users.${name}`)}</dt>
            <dd className="truncate">{user[name] === '' ? '–' : user[name]}</dd>
          </div>
        ))}
      </dl>
    </>
  );
}

export function UserDrawer({ user, groups, onClose, onSaved }: UserDrawerProps) {
  const { t } = useTranslation();
  const money = useMoney();
  const details = useMoneyDetails();
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
      title={user === null ? t('users.add') : t('users.edit', { name: user.username })}
      dirty={form.dirty}
      onClose={onClose}
      footer={<FormFooter form="user-form" action={t('app.save')} onClose={onClose} disabled={form.busy} />}
    >
      <CheckedForm id="user-form" onSubmit={form.submit}>
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
          <>
            <SelectField
              label={t('users.group')}
              options={[...new Set([...groups, typed.group])].map((name) => [name, name] as const)}
              {...field('group')}
            />
            <MoneyField
              label={t('users.addQuota')}
              help={t('users.addQuotaHelp', { now: money(user.quota), after: money(user.quota + more) })}
              empty={t('users.addNothing')}
              bounds={signedBounds}
              {...field('added')}
            />
            <BindingList user={user} />
          </>
        )}
        <p role="alert" className="text-danger">
          {form.error}
        </p>
      </CheckedForm>
      {user === null ? null : (
        <button
          type="button"
          className="button mt-4"
          onClick={() => attempt(() => call('second_factor.reset', { id: user.id }), t('users.secondReset'))}
        >
          {t('users.resetSecond')}
        </button>
      )}
    </Sheet>
  );
}
