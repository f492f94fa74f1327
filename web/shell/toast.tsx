/** Short news below the top bar, where they cover no button of a form; they follow the theme like everything that floats. */
import { useTranslation } from 'react-i18next';
import { Toaster } from 'sonner';

const style = {
  background: 'var(--bg-raised)',
  color: 'var(--text-1)',
  border: '1px solid var(--line-strong)',
  borderRadius: 'var(--r-3)',
  boxShadow: 'var(--shadow-pop)',
  fontFamily: 'var(--font-sans)',
  fontSize: 'var(--fs-13)',
};

export function Toasts() {
  const { t } = useTranslation();
  return (
    <Toaster
      position="top-center"
      offset={{ top: 56 }}
      mobileOffset={{ top: 56 }}
      visibleToasts={3}
      closeButton
      containerAriaLabel={t('app.toasts')}
      toastOptions={{ style, closeButtonAriaLabel: t('app.close') }}
    />
  );
}
