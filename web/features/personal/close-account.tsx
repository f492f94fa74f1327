/** Closes the account, which cannot be taken back: its name is typed first. */

import { type FormEvent, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { toast } from 'sonner';
import { useLocation } from 'wouter';
import type { User } from '../../../server/contract/entities.ts';
import { Field } from '../../components/form.tsx';
import { Sheet } from '../../components/overlay.tsx';
import { call } from '../../lib/api.ts';
import { attempt } from '../../lib/attempt.ts';
import { writeUser } from '../../lib/session.ts';
import { ActionLine } from './action-line.tsx';

export function CloseAccount({ self }: { readonly self: User }) {
  const { t } = useTranslation();
  const [, navigate] = useLocation();
  const [open, setOpen] = useState(false);
  const [typed, setTyped] = useState('');
  const close = async (event: FormEvent) => {
    event.preventDefault();
    if (typed !== self.username) return void toast.error(t('personal.typeName'));
    if (!(await attempt(() => call('user.close_self'), t('personal.closed')))) return;
    await call('session.logout_post').catch(() => undefined);
    writeUser(null);
    navigate('/login');
  };
  return (
    <div className="rounded-3 border border-danger-solid bg-surface px-4 py-3">
      <ActionLine title={t('personal.close')} text={t('personal.closeHelp')}>
        <button type="button" className="button text-danger" onClick={() => setOpen(true)}>
          {t('personal.close')}
        </button>
      </ActionLine>
      {open ? (
        <Sheet title={t('personal.close')} onClose={() => setOpen(false)}>
          <form onSubmit={close}>
            <p className="mb-3 text-danger">{t('personal.closeText')}</p>
            <Field label={t('personal.typeNameLabel', { name: self.username })}>
              {(ids) => (
                <input
                  {...ids}
                  className="field"
                  autoComplete="off"
                  value={typed}
                  onChange={(event) => setTyped(event.target.value)}
                />
              )}
            </Field>
            <button type="submit" className="button button-danger">
              {t('personal.close')}
            </button>
          </form>
        </Sheet>
      ) : null}
    </div>
  );
}
