/** Log in over the page, and go on where one was: the session ended while a form was half filled, or a step wants a login of a moment ago. */
import { Dialog, DialogPanel, DialogTitle } from '@headlessui/react';
import { useQueryClient } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import type { User } from '../../server/contract/entities.ts';
import { LoginForm } from '../components/login/login-form.tsx';
import { basePath } from '../lib/base-path.ts';
import { endSession, writeUser } from '../lib/session.ts';
import { readUser } from '../lib/stored-user.ts';

interface LoginOverProps {
  readonly help: string;
  readonly notice: string;
  readonly onIn: (user: User) => void;
  readonly onClose: () => void;
}

function LoginOver({ help, notice, onIn, onClose }: LoginOverProps) {
  const { t } = useTranslation();
  return (
    <Dialog open onClose={onClose} className="relative z-50">
      <div className="fixed inset-0 bg-scrim" aria-hidden="true" />
      <div className="fixed inset-0 grid place-items-center overflow-auto p-4">
        <DialogPanel className="w-[380px] max-w-full rounded-3 border border-line-strong bg-raised p-5 shadow-pop">
          <DialogTitle className="mb-1 font-semibold">{t('login.title')}</DialogTitle>
          <p className="mb-4 text-ink-2">{help}</p>
          <LoginForm notice={notice} onIn={onIn} />
        </DialogPanel>
      </div>
    </Dialog>
  );
}

export function LoginAgain() {
  const { t } = useTranslation();
  const client = useQueryClient();
  return (
    <LoginOver
      help={t('account.againHelp')}
      notice={t('login.expired')}
      onIn={(user) => {
        writeUser(user);
        endSession(false);
        void client.invalidateQueries();
      }}
      onClose={() => {
        endSession(false);
        writeUser(null);
        location.assign(`${basePath}/login?expired=true`);
      }}
    />
  );
}

export function LoginForStep({ onDone }: { readonly onDone: (loggedIn: boolean) => void }) {
  const { t } = useTranslation();
  return (
    <LoginOver
      help={t('account.proofHelp')}
      notice=""
      onIn={(user) => {
        const same = user.id === readUser()?.id;
        writeUser(user);
        onDone(same);
        // Another user has logged in: nothing on the page belongs to them.
        if (!same) location.assign(`${basePath}/`);
      }}
      onClose={() => onDone(false)}
    />
  );
}
