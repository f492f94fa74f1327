/** One's own account. */

import { type FormEvent, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'wouter';
import type { User } from '../../../server/contract/entities.ts';
import { Card } from '../../components/card.tsx';
import { Boundary } from '../../components/failure.tsx';
import { Field } from '../../components/form.tsx';
import { BuyerCard } from '../../components/invoices/buyer.tsx';
import { PageHead } from '../../components/page.tsx';
import { Waiting } from '../../components/waiting.tsx';
import { call } from '../../lib/api.ts';
import { attempt } from '../../lib/attempt.ts';
import { siteAddress } from '../../lib/base-path.ts';
import { copyOrShow } from '../../lib/copy.ts';
import { grouped } from '../../lib/format.ts';
import { useMoney } from '../../lib/money.ts';
import { useRead } from '../../lib/read.ts';
import { isRoot, roleLabel } from '../../lib/session.ts';
import { AccessTokens } from './access-tokens.tsx';
import { Bindings } from './bindings.tsx';
import { CloseAccount } from './close-account.tsx';
import { Models } from './models.tsx';
import { Notifications } from './notifications.tsx';
import { Security } from './security.tsx';
import { Sessions } from './sessions.tsx';

function Profile({ self }: { readonly self: User }) {
  const { t } = useTranslation();
  const money = useMoney();
  const [name, setName] = useState(self.display_name);
  const save = (event: FormEvent) => {
    event.preventDefault();
    void attempt(() => call('user.update_self', { display_name: name }), t('settings.saved'));
  };
  const details: readonly (readonly [string, string])[] = [
    [t('personal.balance'), money(self.quota)],
    [t('personal.used'), money(self.used_quota)],
    [t('personal.requests'), grouped(self.request_count)],
    [t('personal.group'), self.group],
  ];
  return (
    <Card
      title={self.username}
      actions={
        <>
          <span
            className={`rounded-1 px-1.5 text-[11px] ${isRoot(self) ? 'bg-danger-soft text-danger' : 'bg-sunken text-ink-2'}`}
          >
            {t(roleLabel(self.role))}
          </span>
          <span className="text-ink-3">#{self.id}</span>
        </>
      }
    >
      <dl className="mb-4 grid grid-cols-2 gap-3 sm:grid-cols-4">
        {details.map(([label, value]) => (
          <div key={label}>
            <dt className="text-[12px] text-ink-3">{label}</dt>
            <dd className="text-[16px] leading-6 font-semibold">{value}</dd>
          </div>
        ))}
      </dl>
      <form onSubmit={save} className="-mb-4 flex items-end gap-2">
        <div className="min-w-0 flex-1">
          <Field label={t('personal.displayName')}>
            {(ids) => (
              <input
                {...ids}
                className="field"
                maxLength={20}
                value={name}
                onChange={(event) => setName(event.target.value)}
              />
            )}
          </Field>
        </div>
        <button type="submit" className="button mb-4 h-8 max-sm:h-11!">
          {t('app.save')}
        </button>
      </form>
    </Card>
  );
}

function Invite({ self }: { readonly self: User }) {
  const { t } = useTranslation();
  const money = useMoney();
  const code = useRead({ queryKey: ['invitation'], queryFn: () => call('affiliate.code') }).data ?? '';
  const link = `${siteAddress()}/register?aff=${code}`;
  return (
    <Card title={t('personal.invite')}>
      <p className="mb-2 text-ink-2">
        {t('personal.invited', {
          count: self.aff_count,
          earned: money(self.aff_history_quota),
          left: money(self.aff_quota),
        })}
      </p>
      <div className="flex gap-2 max-sm:flex-wrap">
        <input
          className="field min-w-0 font-mono text-[12px] max-sm:text-[12px]!"
          readOnly
          aria-label={t('personal.invite')}
          title={link}
          value={link}
        />
        <button type="button" className="button h-8" onClick={() => copyOrShow(link)}>
          {t('app.copy')}
        </button>
        <Link href="/topup" className="button h-8">
          {t('personal.transfer')}
        </Link>
      </div>
    </Card>
  );
}

export function ProfilePage() {
  const { t } = useTranslation();
  const self = useRead({ queryKey: ['self'], queryFn: () => call('user.self') }).data;
  return (
    <>
      <PageHead title={t('nav.account')} />
      {self === undefined ? (
        <Waiting />
      ) : (
        <div className="grid grid-cols-[minmax(0,1fr)] items-start gap-4 px-5 pb-6 xl:grid-cols-2">
          <div className="grid grid-cols-[minmax(0,1fr)] gap-4">
            <Profile self={self} />
            <Security />
            {[Sessions, AccessTokens].map((Part) => (
              <Boundary key={Part.name}>
                <Part />
              </Boundary>
            ))}
          </div>
          <div className="grid grid-cols-[minmax(0,1fr)] gap-4">
            <Bindings self={self} />
            <Notifications self={self} />
            <Boundary>
              <BuyerCard />
            </Boundary>
            <Boundary>
              <Invite self={self} />
            </Boundary>
            <Boundary>
              <Models self={self} />
            </Boundary>
            <CloseAccount self={self} />
          </div>
        </div>
      )}
    </>
  );
}
