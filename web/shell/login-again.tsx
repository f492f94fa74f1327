/** The session ended while a form was half filled: log in over the page, and go on where one was. */
import { Dialog, DialogPanel, DialogTitle } from '@headlessui/react';
import { useQueryClient } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { LoginForm } from '../features/account/login-form.tsx';
import { endSession, writeUser } from '../lib/session.ts';

export function LoginAgain() {
  const { t } = useTranslation();
  const client = useQueryClient();
  const leave = () => {
    endSession(false);
    writeUser(null);
    location.assign('/login?expired=true');
  };
  return (
    <Dialog open onClose={leave} className="relative z-50">
      <div className="fixed inset-0 bg-scrim" aria-hidden="true" />
      <div className="fixed inset-0 grid place-items-center overflow-auto p-4">
        <DialogPanel className="w-[380px] max-w-full rounded-3 border border-line-strong bg-raised p-5 shadow-pop">
          <DialogTitle className="mb-1 font-semibold">{t('login.title')}</DialogTitle>
          <p className="mb-4 text-ink-2">{t('account.againHelp')}</p>
          <LoginForm
            notice={t('login.expired')}
            onIn={(user) => {
              writeUser(user);
              endSession(false);
              void client.invalidateQueries();
            }}
          />
        </DialogPanel>
      </div>
    </Dialog>
  );
}
