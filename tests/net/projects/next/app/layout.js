import '@fontsource/vt323/400.css'

export default function Layout({ children }) {
  return (
    <html lang="en">
      <body style={{ fontFamily: 'VT323' }}>{children}</body>
    </html>
  )
}
